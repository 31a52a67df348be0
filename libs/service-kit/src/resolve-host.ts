import { Resolver, lookup as systemLookup } from 'node:dns/promises';
import { readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';

/** An address that a name stands for. */
export interface ResolvedAddress {
  readonly address: string;
  readonly family: 4 | 6;
}

/** Finds the addresses of a name; none where there are none. */
export type ResolveHost = (host: string) => Promise<readonly ResolvedAddress[]>;

/** What a test puts in the place of the real thing. */
export interface ResolverParts {
  /** `address:port` of the name servers; those of the system otherwise. */
  readonly servers?: readonly string[];
  /** The look-up of the operating system. */
  readonly system?: ResolveHost;
  readonly hostsFile?: string;
}

const queryTimeoutMs = 1_500;
const tries = 2;
/** The system's settings are read again after this time. */
const settingsKeptMs = 30_000;
/** Whoever has waited for so long for the system's look-up has given up. */
const giveUpMs = 5_000;
/** Once there is an IPv4 address, one of IPv6 is waited for so long: some name servers never answer when they are asked for it. */
const otherFamilyMs = 1_000;
/** Name servers, or their absence, that say: there is no such name here. */
const unknown: readonly unknown[] = ['ENOTFOUND', 'ENODATA', 'ECONNREFUSED'];

/**
 * Looks up names that users have given. The system's own look-up takes one of two threads for as long as a name server is silent, and whoever owns a name can
 * have a server that is: nobody else would find a name any more. So name servers are asked directly, which takes no thread, and the system alone for what is
 * its own: names without a dot, those of the hosts file, and, one at a time, those that name servers do not know.
 */
export function hostResolver(parts: ResolverParts = {}): ResolveHost {
  const { servers, system = lookUpBySystem, hostsFile = '/etc/hosts' } = parts;
  const inTurn = oneAtATime(system);
  const settings = kept(async () => {
    const resolver = new Resolver({ timeout: queryTimeoutMs, tries });
    if (servers !== undefined) resolver.setServers(servers);
    return { resolver, ownNames: await namesIn(hostsFile) };
  });
  return async (host) => {
    const name = host.toLowerCase().replace(/\.$/, '');
    const { resolver, ownNames } = await settings();
    if (!name.includes('.') || ownNames.has(name)) return system(host);
    const [four, six] = await bothFamilies(resolver, name);
    const found = [...addressesOf(four, 4), ...addressesOf(six, 6)];
    if (found.length > 0 || !isUnknown(four) || !isUnknown(six)) return found;
    return inTurn(host);
  };
}

const silence: PromiseSettledResult<string[]> = { status: 'rejected', reason: new Error('no answer in time') };

/** What name servers say of both families, but for IPv6 where they are silent on it and have an address of IPv4. */
async function bothFamilies(
  resolver: Resolver,
  name: string,
): Promise<[PromiseSettledResult<string[]>, PromiseSettledResult<string[]>]> {
  const answers: [PromiseSettledResult<string[]>, PromiseSettledResult<string[]>] = [silence, silence];
  const four = resolver.resolve4(name);
  const all = Promise.allSettled(
    [four, resolver.resolve6(name)].map(async (asking, at) => {
      [answers[at]] = await Promise.allSettled([asking]);
    }),
  );
  const enough = four.then(
    () => delay(otherFamilyMs, undefined, { ref: false }),
    () => all,
  );
  await Promise.race([all, enough]);
  return answers;
}

const addressesOf = (answer: PromiseSettledResult<string[]>, family: 4 | 6): ResolvedAddress[] =>
  answer.status === 'fulfilled' ? answer.value.map((address) => ({ address, family })) : [];

const isUnknown = (answer: PromiseSettledResult<string[]>): boolean =>
  answer.status === 'rejected' && unknown.includes((answer.reason as { code?: unknown }).code);

const lookUpBySystem: ResolveHost = async (host) =>
  (await systemLookup(host, { all: true })).map(({ address, family }) => ({ address, family: family === 6 ? 6 : 4 }));

/** Look-ups one after the other; none for those who do not wait any more. */
function oneAtATime(system: ResolveHost): ResolveHost {
  let last: Promise<unknown> = Promise.resolve();
  return (host) => {
    const askedAtMs = performance.now();
    const turn = last.then(() => (performance.now() - askedAtMs > giveUpMs ? [] : system(host)));
    last = turn.catch(() => undefined);
    return turn;
  };
}

/** Makes something again when it is old. */
function kept<T>(make: () => Promise<T>): () => Promise<T> {
  let made: { value: Promise<T>; atMs: number } | undefined;
  return () => {
    if (made === undefined || performance.now() - made.atMs > settingsKeptMs)
      made = { value: make(), atMs: performance.now() };
    return made.value;
  };
}

/** The names of a hosts file; none where there is no such file. */
async function namesIn(path: string): Promise<ReadonlySet<string>> {
  const text = await readFile(path, 'utf8').catch(() => '');
  const lines = text.split('\n').map((line) => line.replace(/#.*/, '').trim());
  return new Set(lines.flatMap((line) => line.toLowerCase().split(/\s+/).slice(1)));
}
