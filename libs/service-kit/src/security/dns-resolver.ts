import { Resolver, lookup as systemLookup } from 'node:dns/promises';
import { readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';

/** An address that a name stands for. */
export interface ResolvedAddress {
  readonly address: string;
  readonly family: 4 | 6;
}

/** Finds the addresses of a name; none where there are none. */
export type DnsResolver = (host: string) => Promise<readonly ResolvedAddress[]>;

/** What a test puts in the place of the real thing. */
export interface DnsResolverDeps {
  /** `address:port` of the name servers; those of the system otherwise. */
  readonly servers?: readonly string[];
  /** The look-up of the operating system. */
  readonly system?: DnsResolver;
  readonly hostsFile?: string;
}

const queryTimeoutMs = 1_500;
const maxTries = 2;
/** The system's settings are read again after this time. */
const settingsCacheTtlMs = 30_000;
/** Whoever has waited for so long for the system's look-up has given up. */
const systemLookupTimeoutMs = 5_000;
/** Once there is an IPv4 address, one of IPv6 is waited for so long: some name servers never answer when they are asked for it. */
const ipv6TimeoutMs = 1_000;
/** Name servers, or their absence, that say: there is no such name here. */
const notFoundCodes: readonly unknown[] = ['ENOTFOUND', 'ENODATA', 'ECONNREFUSED'];

/**
 * Looks up names that users have given. The system's own look-up takes one of two threads for as long as a name server is silent, and whoever owns a name can
 * have a server that is: nobody else would find a name any more. So name servers are asked directly, which takes no thread, and the system alone for what is
 * its own: names without a dot, those of the hosts file, and, one at a time, those that name servers do not know.
 */
export function createDnsResolver(deps: DnsResolverDeps = {}): DnsResolver {
  const { servers, system = resolveWithSystem, hostsFile = '/etc/hosts' } = deps;
  const serializedSystem = serializeLookups(system);
  const settings = createCached(async () => {
    const resolver = new Resolver({ timeout: queryTimeoutMs, tries: maxTries });
    if (servers !== undefined) resolver.setServers(servers);
    return { resolver, ownNames: await readHostNames(hostsFile) };
  });
  return async (host) => {
    const name = host.toLowerCase().replace(/\.$/, '');
    const { resolver, ownNames: hostsFileNames } = await settings();
    if (!name.includes('.') || hostsFileNames.has(name)) return system(host);
    const [four, six] = await resolveBothFamilies(resolver, name);
    const addresses = [...toAddresses(four, 4), ...toAddresses(six, 6)];
    if (addresses.length > 0 || !isNotFound(four) || !isNotFound(six)) return addresses;
    return serializedSystem(host);
  };
}

const noResponse: PromiseSettledResult<string[]> = { status: 'rejected', reason: new Error('no answer in time') };

/** What name servers say of both families, but for IPv6 where they are silent on it and have an address of IPv4. */
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

/** Look-ups one after the other; none for those who do not wait any more. */
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

/** Makes something again when it is old. */
function createCached<T>(load: () => Promise<T>): () => Promise<T> {
  let cached: { value: Promise<T>; atMs: number } | undefined;
  return () => {
    if (cached === undefined || performance.now() - cached.atMs > settingsCacheTtlMs)
      cached = { value: load(), atMs: performance.now() };
    return cached.value;
  };
}

/** The names of a hosts file; none where there is no such file. */
async function readHostNames(path: string): Promise<ReadonlySet<string>> {
  const text = await readFile(path, 'utf8').catch(() => '');
  const lines = text.split('\n').map((line) => line.replace(/#.*/, '').trim());
  return new Set(lines.flatMap((line) => line.toLowerCase().split(/\s+/).slice(1)));
}
