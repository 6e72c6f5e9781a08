/** A refusal as the Gemini API sends it: a status code and a sentence. */
export class ApiError extends Error {
  readonly code: number;
  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

/** Any error as a refusal: an error that is not one comes from the script. */
export function toApiError(error: unknown): ApiError {
  return error instanceof ApiError ? error : new ApiError(500, `The script failed: ${String(error)}`);
}

/** The body of a refusal. */
export function toErrorBody({ code, message }: Pick<ApiError, "code" | "message">): object {
  return { error: { code, message, status: statusNames[code] ?? "UNKNOWN" } };
}

const statusNames: Readonly<Record<number, string>> = {
  400: "INVALID_ARGUMENT",
  401: "UNAUTHENTICATED",
  403: "PERMISSION_DENIED",
  404: "NOT_FOUND",
  429: "RESOURCE_EXHAUSTED",
  500: "INTERNAL",
  503: "UNAVAILABLE",
  504: "DEADLINE_EXCEEDED",
};
