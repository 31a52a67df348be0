import { Resolver, lookup as systemLookup } from 'node:dns/promises';
import { readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';

/** An address of a name. */
export interface ResolvedAddress {
  readonly address: string;
  readonly family: 4 | 6;
}

/** Returns the addresses of a name; empty without any. */
export type DnsResolver = (host: string) => Promise<readonly ResolvedAddress[]>;

/** Replacements for tests. */
interface DnsResolverDeps {
  /** `address:port` of the name servers; by default those of the system. */
  readonly servers?: readonly string[];
  /** Lookup of the operating system. */
  readonly system?: DnsResolver;
  readonly hostsFile?: string;
}

const queryTimeoutMs = 1_500;
const maxTries = 2;
/** The system's settings are read again after this time. */
const settingsCacheTtlMs = 30_000;
/** Time-out of callers that wait for the system's lookup. */
const systemLookupTimeoutMs = 5_000;
/** Wait for an IPv6 address once there is an IPv4 address: some name servers never reply to IPv6 queries. */
const ipv6TimeoutMs = 1_000;
/** Error codes for a name that does not exist, or without name servers. */
const notFoundCodes: readonly unknown[] = ['ENOTFOUND', 'ENODATA', 'ECONNREFUSED'];

/**
 * Resolves names that users supplied. The system's own lookup blocks one of two threads while a name server is silent.
 * Any owner of a name can run such a server. Name servers are therefore queried directly, without a thread. The system
 * resolves only names without a dot, names of the hosts file, and, one at a time, names unknown to the name servers.
 */
export function createDnsResolver(deps: DnsResolverDeps = {}): DnsResolver {
  const { servers, system = resolveWithSystem, hostsFile = '/etc/hosts' } = deps;
  const serializedSystem = serializeLookups(system);
  const settings = createCached(async () => {
    const resolver = new Resolver({ timeout: queryTimeoutMs, tries: maxTries });
    if (servers !== undefined) resolver.setServers(servers);
    return { resolver, hostsFileNames: await readHostNames(hostsFile) };
  });
  return async (host) => {
    const name = host.toLowerCase().replace(/\.$/, '');
    const { resolver, hostsFileNames } = await settings();
    if (!name.includes('.') || hostsFileNames.has(name)) return system(host);
    const [four, six] = await resolveBothFamilies(resolver, name);
    const addresses = [...toAddresses(four, 4), ...toAddresses(six, 6)];
    if (addresses.length > 0 || !isNotFound(four) || !isNotFound(six)) return addresses;
    return serializedSystem(host);
  };
}

const noResponse: PromiseSettledResult<string[]> = { status: 'rejected', reason: new Error('no response in time') };

/** Returns the addresses of both families; without IPv6 if name servers are silent on it and IPv4 exists. */
async function resolveBothFamilies(
  resolver: Resolver,
  name: string,
): Promise<[PromiseSettledResult<string[]>, PromiseSettledResult<string[]>]> {
  const results: [PromiseSettledResult<string[]>, PromiseSettledResult<string[]>] = [noResponse, noResponse];
  const four = resolver.resolve4(name);
  const all = Promise.allSettled(
    [four, resolver.resolve6(name)].map(async (query, index) => {
      [results[index]] = await Promise.allSettled([query]);
    }),
  );
  const timeout = four.then(
    () => delay(ipv6TimeoutMs, undefined, { ref: false }),
    () => all,
  );
  await Promise.race([all, timeout]);
  return results;
}

const toAddresses = (result: PromiseSettledResult<string[]>, family: 4 | 6): ResolvedAddress[] =>
  result.status === 'fulfilled' ? result.value.map((address) => ({ address, family })) : [];

const isNotFound = (result: PromiseSettledResult<string[]>): boolean =>
  result.status === 'rejected' && notFoundCodes.includes((result.reason as { code?: unknown }).code);

const resolveWithSystem: DnsResolver = async (host) =>
  (await systemLookup(host, { all: true })).map(({ address, family }) => ({ address, family: family === 6 ? 6 : 4 }));

/** Runs lookups one after the other; skips those whose callers have timed out. */
function serializeLookups(system: DnsResolver): DnsResolver {
  let lastLookup: Promise<unknown> = Promise.resolve();
  return (host) => {
    const requestedAtMs = performance.now();
    const lookup = lastLookup.then(() =>
      performance.now() - requestedAtMs > systemLookupTimeoutMs ? [] : system(host),
    );
    lastLookup = lookup.catch(() => undefined);
    return lookup;
  };
}

/** Creates a value again when it is old. */
function createCached<T>(load: () => Promise<T>): () => Promise<T> {
  let cached: { value: Promise<T>; atMs: number } | undefined;
  return () => {
    if (cached === undefined || performance.now() - cached.atMs > settingsCacheTtlMs)
      cached = { value: load(), atMs: performance.now() };
    return cached.value;
  };
}

/** Returns the names of a hosts file; empty without a file. */
async function readHostNames(path: string): Promise<ReadonlySet<string>> {
  const text = await readFile(path, 'utf8').catch(() => '');
  const lines = text.split('\n').map((line) => line.replace(/#.*/, '').trim());
  return new Set(lines.flatMap((line) => line.toLowerCase().split(/\s+/).slice(1)));
}
