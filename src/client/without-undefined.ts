/** The fields that have a value. */
export function withoutUndefined<T extends object>(fields: { [Key in keyof T]: T[Key] | undefined }): T {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as T;
}
