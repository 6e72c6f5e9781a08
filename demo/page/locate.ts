export interface Place {
  latitude: number;
  longitude: number;
  accuracy: number;
}

const timeoutMs = 20_000;

/** The location of this browser, if the user allows it. */
export function locate(): Promise<Place> {
  return new Promise((resolve, reject) => {
    if (!("geolocation" in navigator)) {
      reject(new Error("This browser cannot tell its location."));
      return;
    }
    navigator.geolocation.getCurrentPosition(
      ({ coords }) => resolve({ latitude: coords.latitude, longitude: coords.longitude, accuracy: coords.accuracy }),
      (error) => reject(new Error(sentence(error))),
      { timeout: timeoutMs, maximumAge: 60_000 },
    );
  });
}

function sentence(error: GeolocationPositionError): string {
  if (error.code === error.PERMISSION_DENIED) return "The browser was not allowed to share its location.";
  if (error.code === error.TIMEOUT) return "The browser did not find its location in time.";
  return "The browser could not find its location.";
}
