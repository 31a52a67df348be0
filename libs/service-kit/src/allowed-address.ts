import { BlockList, isIP, isIPv4 } from 'node:net';

/** The bits of the prefix of a network, `10.0.0.0/8`, or of a single address; undefined for what is neither. */
function networkOf(text: string): { base: string; family: 'ipv4' | 'ipv6'; bits: number } | undefined {
  const [base = '', prefix, ...rest] = text.split('/');
  if (isIP(base) === 0 || rest.length > 0) return undefined;
  const [family, most] = isIPv4(base) ? (['ipv4', 32] as const) : (['ipv6', 128] as const);
  const bits = prefix === undefined ? most : /^\d{1,3}$/.test(prefix) ? Number(prefix) : -1;
  return bits >= 0 && bits <= most ? { base, family, bits } : undefined;
}

/** True for an address or a network in CIDR notation. */
export const isNetwork = (text: string): boolean => networkOf(text) !== undefined;

/** Whether an address is in one of the networks; an empty list allows every address. */
export function isAddressAllowed(networks: readonly string[], address: string): boolean {
  if (networks.length === 0) return true;
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, '');
  if (isIP(plain) === 0) return false;
  const list = new BlockList();
  for (const network of networks) {
    const parts = networkOf(network);
    if (parts !== undefined) list.addSubnet(parts.base, parts.bits, parts.family);
  }
  return list.check(plain, isIPv4(plain) ? 'ipv4' : 'ipv6');
}
