import Bowser from 'bowser';

/** The program of a session and the system it runs on, for example Chrome and Windows. */
interface SessionClient {
  readonly browser: string;
  readonly system: string;
}

/** Returns the browser of a user agent; undefined for programs that are not browsers. */
export function findSessionClient(userAgent: string): SessionClient | undefined {
  if (userAgent === '') return undefined;
  const { browser, os } = Bowser.parse(userAgent);
  if (browser.name === undefined || browser.name === '' || os.name === undefined) return undefined;
  return { browser: browser.name, system: os.name };
}
