import { BlockList, isIP, isIPv4 } from 'node:net';

/** Returns the prefix length of a network, `10.0.0.0/8`, or of a single address; undefined for other text. */
function parseCidr(text: string): { base: string; family: 'ipv4' | 'ipv6'; bits: number } | undefined {
  const [base = '', prefix, ...rest] = text.split('/');
  if (isIP(base) === 0 || rest.length > 0) return undefined;
  const [family, maxBits] = isIPv4(base) ? (['ipv4', 32] as const) : (['ipv6', 128] as const);
  const bits = prefix === undefined ? maxBits : /^\d{1,3}$/.test(prefix) ? Number(prefix) : -1;
  return bits >= 0 && bits <= maxBits ? { base, family, bits } : undefined;
}

/** Returns true for an address or a network in CIDR notation. */
export const isCidr = (text: string): boolean => parseCidr(text) !== undefined;

/** Represents a list of networks in CIDR notation; other text in it is ignored. */
export class AddressList {
  readonly #networks = new BlockList();

  constructor(networks: readonly string[]) {
    for (const network of networks) {
      const subnet = parseCidr(network);
      if (subnet !== undefined) this.#networks.addSubnet(subnet.base, subnet.bits, subnet.family);
    }
  }

  includes(address: string): boolean {
    const unmapped = address.replace(/^::ffff:(?=\d+\.)/i, '');
    return isIP(unmapped) !== 0 && this.#networks.check(unmapped, isIPv4(unmapped) ? 'ipv4' : 'ipv6');
  }
}

/** Returns whether an address is in one of the networks; an empty list allows every address. */
export const isIpAllowed = (networks: readonly string[], address: string): boolean =>
  networks.length === 0 || new AddressList(networks).includes(address);
