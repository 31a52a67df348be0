/** Address of a server. */
export interface Address {
  readonly host: string;
  readonly port: number;
}

/** Credentials of a server; without a user name those of the default user. */
export interface Credentials {
  readonly username?: string;
  readonly password?: string;
}

/** Returns credentials without the empty parts. */
export const toCredentials = (username: string | null = null, password: string | null = null): Credentials => ({
  ...(username ? { username } : {}),
  ...(password ? { password } : {}),
});

/** Parses the percent-encoded `user:password` of a URL. */
export function parseCredentials(text: string): Credentials {
  const [username, password] = text.split(':').map(decodeURIComponent);
  return toCredentials(username, password);
}

/** Parses `host` or `host:port`. */
export function parseAddress(text: string, defaultPort: number): Address {
  const { hostname, port } = new URL(`redis://${text.trim()}`);
  return { host: hostname.replaceAll(/^\[|\]$/g, ''), port: port === '' ? defaultPort : Number(port) };
}
