import { isIP, type LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';
import { createDnsResolver, type DnsResolver, type ResolvedAddress } from './dns-resolver.ts';
import { isCidr, isIpAllowed } from './ip-allowlist.ts';

/** Settings of the guard. */
export interface SsrfGuardOptions {
  /** Allowed networks that are not public: private installations, tests. */
  readonly allowedCidrs?: readonly string[];
  /** True to allow plain `http` and port 80 too. */
  readonly allowHttp?: boolean;
  /** Resolves a host name; by name servers and the system unless a test replaces it. */
  readonly resolve?: DnsResolver;
}

/** Result of a check. */
export type SsrfVerdict =
  | {
      readonly kind: 'allowed';
      readonly url: URL;
      readonly addresses: readonly ResolvedAddress[];
      /**
       * DNS lookup for `http.request` and `https.request`: returns the checked addresses, even if the name has changed
       * since.
       */
      readonly lookup: LookupFunction;
    }
  | { readonly kind: 'badUrl' | 'blockedAddress' | 'unresolved'; readonly reason: string };

/** Longest accepted URL. */
export const maxUrlLength = 2_048;
const resolveTimeoutMs = 5_000;
const httpsPort = 443;
const httpPort = 80;
const firstFreePort = 1_024;

/**
 * Decides to which URLs of users the platform connects: `https` URLs with public addresses only. A URL is checked when
 * it is saved and before each connection, which then uses the checked address.
 */
export class SsrfGuard {
  readonly #options: Required<SsrfGuardOptions>;

  constructor(options: SsrfGuardOptions = {}) {
    const { allowedCidrs = [], allowHttp = false, resolve = defaultResolver } = options;
    const invalid = allowedCidrs.find((network) => !isCidr(network));
    if (invalid !== undefined) throw new Error(`${invalid} is not a network in CIDR notation`);
    this.#options = { allowedCidrs, allowHttp, resolve };
  }

  async check(text: string): Promise<SsrfVerdict> {
    const url = this.#parse(text);
    if (!(url instanceof URL)) return { kind: 'badUrl', reason: url };
    const host = url.hostname.replace(/^\[|\]$/g, '');
    const addresses = await this.#resolveAddresses(host);
    if (addresses.length === 0)
      return { kind: 'unresolved', reason: `must have a host that resolves; ${host} does not` };
    // One private address is enough: a connection may use any of them.
    if (addresses.some(({ address }) => !this.isAllowed(address)))
      return { kind: 'blockedAddress', reason: 'must have a host with public addresses only' };
    return { kind: 'allowed', url, addresses, lookup: createFixedLookup(addresses) };
  }

  /** Returns whether the platform may connect to an address. */
  isAllowed(address: string): boolean {
    const { allowedCidrs } = this.#options;
    if (allowedCidrs.length > 0 && isIpAllowed(allowedCidrs, address)) return true;
    return isPublicAddress(address);
  }

  /** Returns the parsed URL, or the fault. */
  #parse(text: string): URL | string {
    const { allowHttp } = this.#options;
    if (text.length > maxUrlLength) return `must have at most ${maxUrlLength} characters`;
    if (!URL.canParse(text)) return 'must be a URL';
    const url = new URL(text);
    if (url.protocol !== 'https:' && !(allowHttp && url.protocol === 'http:')) return 'must be an https URL';
    if (url.username !== '' || url.password !== '') return 'must not have a user name or a password';
    if (text.includes('#')) return 'must not have a fragment';
    const port = url.port === '' ? (url.protocol === 'https:' ? httpsPort : httpPort) : Number(url.port);
    if (port !== httpsPort && port < firstFreePort && !(allowHttp && port === httpPort))
      return 'must have the port 443 or one from 1024 to 65535';
    return url;
  }

  async #resolveAddresses(host: string): Promise<readonly ResolvedAddress[]> {
    const literal = isIP(host);
    if (literal !== 0) return [{ address: host, family: literal === 6 ? 6 : 4 }];
    try {
      return await withTimeout(this.#options.resolve(host));
    } catch {
      // A name without an address is a result, not an error of the guard.
      return [];
    }
  }
}

/** Returns whether an address is public. Addresses that contain an IPv4 address are judged by that. */
export function isPublicAddress(text: string): boolean {
  if (isIP(text) === 0) return false;
  const address = ipaddr.parse(text);
  if (address instanceof ipaddr.IPv4) return isPublicIpv4(address);
  // A zone names an interface of this machine.
  if (address.zoneId !== undefined && address.zoneId !== '') return false;
  const embedded = embeddedIpv4(address);
  if (embedded.length > 0) return embedded.every(isPublicIpv4);
  return address.range() === 'unicast' && address.match(globalUnicast);
}

const isPublicIpv4 = (address: ipaddr.IPv4): boolean => address.range() === 'unicast';

/** The allocated global unicast range; the library classifies other unreserved addresses as unicast too. */
const globalUnicast = ipaddr.IPv6.parseCIDR('2000::/3');

/** Encodings of IPv4 addresses in IPv6: the network, and the position of the address. */
const embeddings: readonly (readonly [ReturnType<typeof ipaddr.IPv6.parseCIDR>, (parts: number[]) => ipaddr.IPv4[]])[] =
  [
    // IPv4-mapped (RFC 4291), IPv4-translated (RFC 2765), NAT64 (RFC 6052)
    [ipaddr.IPv6.parseCIDR('::ffff:0:0/96'), (parts) => [readIpv4(parts, 6)]],
    [ipaddr.IPv6.parseCIDR('::ffff:0:0:0/96'), (parts) => [readIpv4(parts, 6)]],
    [ipaddr.IPv6.parseCIDR('64:ff9b::/96'), (parts) => [readIpv4(parts, 6)]],
    // 6to4 (RFC 3056)
    [ipaddr.IPv6.parseCIDR('2002::/16'), (parts) => [readIpv4(parts, 1)]],
    // Teredo (RFC 4380): the server, and the client with its bits inverted
    [
      ipaddr.IPv6.parseCIDR('2001::/32'),
      (parts) => [
        readIpv4(parts, 2),
        readIpv4(
          parts.map((part) => part ^ 0xffff),
          6,
        ),
      ],
    ],
  ];

function embeddedIpv4(address: ipaddr.IPv6): readonly ipaddr.IPv4[] {
  const embedding = embeddings.find(([network]) => address.match(network));
  if (embedding !== undefined) return embedding[1](address.parts);
  // ISATAP (RFC 5214): the interface part is 0000:5efe or 0200:5efe and an IPv4 address.
  const [, , , , flags = 0, marker] = address.parts;
  return (flags & 0xfdff) === 0 && marker === 0x5efe ? [readIpv4(address.parts, 6)] : [];
}

function readIpv4(parts: readonly number[], index: number): ipaddr.IPv4 {
  const [high = 0, low = 0] = parts.slice(index, index + 2);
  return new ipaddr.IPv4([high >> 8, high & 0xff, low >> 8, low & 0xff]);
}

/** Returns a DNS lookup with a fixed result. */
function createFixedLookup(addresses: readonly ResolvedAddress[]): LookupFunction {
  return (_host, options, callback) => {
    const { family } = options;
    const matching = family === 4 || family === 6 ? addresses.filter((each) => each.family === family) : addresses;
    const [first] = matching;
    if (first === undefined) callback(new Error('the name has no address of this family'), '', 0);
    else if (options.all === true) callback(null, [...matching]);
    else callback(null, first.address, first.family);
  };
}

/** Shared by all guards of a process, with its queue. */
const defaultResolver = createDnsResolver();

async function withTimeout<T>(work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error('the resolver did not respond in time')), resolveTimeoutMs);
  });
  try {
    return await Promise.race([work, timeout]);
  } finally {
    clearTimeout(timer);
  }
}
