import {
  type Attributes,
  createNoopMeter,
  metrics as api,
  type Meter,
  type MeterProvider,
  type ObservableResult,
} from "@opentelemetry/api";

/**
 * Instruments of OpenTelemetry that can be made before the application has installed a provider. OpenTelemetry's own ones
 * belong to the provider of their first moment for ever, so these ask which one it is each time they are used. Without a
 * provider that is all they do.
 */
const scope = "adk-stream-protocol";
const noMeter = createNoopMeter();

/** Limits of the buckets of a duration, in seconds. The default ones of OpenTelemetry are meant for milliseconds. */
const seconds = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];

let provider: MeterProvider | undefined;
let meter: Meter = noMeter;
/** What is read when the application collects its metrics. A new provider has to be told about each. */
const observed: ((meter: Meter) => void)[] = [];

/** The meter of the provider that is installed now. */
function currentMeter(): Meter {
  const installed = api.getMeterProvider();
  if (installed === provider) return meter;
  provider = installed;
  meter = installed.getMeter(scope);
  for (const observe of observed) observe(meter);
  return meter;
}

/** True if the application has installed a provider: only then is it worth measuring something that costs time. */
export function isMeasured(): boolean {
  return currentMeter() !== noMeter;
}

/** How an instrument is called, and what it counts. */
export interface Described {
  name: string;
  description: string;
}

function lazily<T>(make: (meter: Meter) => T): () => T {
  let made: { meter: Meter; instrument: T } | undefined;
  return () => {
    const current = currentMeter();
    if (made?.meter !== current) made = { meter: current, instrument: make(current) };
    return made.instrument;
  };
}

/** Counts what happens. */
export function counter({ name, description }: Described) {
  const instrument = lazily((current) => current.createCounter(name, { description }));
  return { name, add: (amount: number, attributes?: Attributes) => instrument().add(amount, attributes) };
}

/** Records durations. They are given in milliseconds and exported in seconds. */
export function duration({ name, description }: Described) {
  const advice = { explicitBucketBoundaries: seconds };
  const instrument = lazily((current) => current.createHistogram(name, { description, unit: "s", advice }));
  return { name, record: (ms: number, attributes?: Attributes) => instrument().record(ms / 1000, attributes) };
}

/** How many of something there are at this moment, in this process. */
export function level({ name, description }: Described) {
  let value = 0;
  observed.push((current) =>
    current
      .createObservableUpDownCounter(name, { description })
      .addCallback((result: ObservableResult) => result.observe(value)),
  );
  return {
    name,
    add(amount: number): void {
      value += amount;
      currentMeter();
    },
  };
}

/** How many of something there are, read from a source when the metrics are collected, by one attribute. */
export function reading({ name, description, attribute }: Described & { attribute: string }) {
  const sources = new Map<object, { users: number; read: () => Promise<Record<string, number>> }>();
  observed.push((current) =>
    current.createObservableGauge(name, { description }).addCallback(async (result: ObservableResult) => {
      const sums: Record<string, number> = {};
      for (const { read } of sources.values())
        // A source that cannot be read now is left out.
        for (const [key, count] of Object.entries(await read().catch((): Record<string, number> => ({}))))
          sums[key] = (sums[key] ?? 0) + count;
      for (const [key, sum] of Object.entries(sums)) result.observe(sum, { [attribute]: key });
    }),
  );
  return {
    name,
    /** Reads the source from now on; one that is given twice is read once. Call the returned function to end that. */
    observe(source: object, read: () => Promise<Record<string, number>>): () => void {
      const entry = sources.get(source) ?? { users: 0, read };
      entry.users += 1;
      sources.set(source, entry);
      currentMeter();
      return () => {
        entry.users -= 1;
        if (entry.users === 0) sources.delete(source);
      };
    },
  };
}
