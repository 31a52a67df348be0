/** Returns an environment variable that `npm test` sets. */
export function testEnv(name: string): string {
  const value = process.env[name];
  if (value === undefined || value === '') throw new Error(`${name} is not set: run the tests with npm test`);
  return value;
}
