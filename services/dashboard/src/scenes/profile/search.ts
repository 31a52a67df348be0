/** State of the profile page in its address. */
interface ProfileSearch {
  /** Webhook whose deliveries are open. */
  readonly webhook?: number;
}

/** Returns the valid parts of the search parameters. */
export function parseProfileSearch(search: Readonly<Record<string, unknown>>): ProfileSearch {
  const webhook = Number(search['webhook']);
  return Number.isSafeInteger(webhook) && webhook > 0 ? { webhook } : {};
}
