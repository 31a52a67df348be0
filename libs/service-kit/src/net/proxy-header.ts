import { isIPv4, isIPv6 } from 'node:net';

/** The client of a proxied connection. */
export interface ProxiedClient {
  readonly address: string;
  readonly port: number;
}

/** What the first bytes of a connection are. */
type ProxyHeader =
  | { readonly kind: 'incomplete' }
  | { readonly kind: 'invalid' }
  /** `client` is null for connections of the proxy itself, such as its health checks. */
  | { readonly kind: 'complete'; readonly lengthBytes: number; readonly client: ProxiedClient | null };

const incomplete: ProxyHeader = { kind: 'incomplete' };
const invalid: ProxyHeader = { kind: 'invalid' };

const v1Prefix = Buffer.from('PROXY ');
/** Longest header of version 1, with its CRLF (PROXY protocol specification, 2.1). */
const v1MaxBytes = 107;
const v2Signature = Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1');
const v2FixedBytes = 16;
/** Addresses take 216 bytes at most; the rest are extensions (TLVs), of which load balancers send few. */
const v2MaxPayloadBytes = 4_096;

const v2Command = { local: 0x20, proxy: 0x21 } as const;
const v2TcpOverIpv4 = 0x11;
const v2TcpOverIpv6 = 0x21;

const startsLike = (bytes: Buffer, prefix: Buffer): boolean => {
  const length = Math.min(bytes.length, prefix.length);
  return bytes.compare(prefix, 0, length, 0, length) === 0;
};

/** Reads a PROXY protocol header, version 1 (text) or 2 (binary), from the first bytes of a connection. */
export function readProxyHeader(bytes: Buffer): ProxyHeader {
  if (startsLike(bytes, v2Signature)) return readVersion2(bytes);
  return startsLike(bytes, v1Prefix) ? readVersion1(bytes) : invalid;
}

function readVersion1(bytes: Buffer): ProxyHeader {
  const end = bytes.subarray(0, v1MaxBytes).indexOf('\r\n');
  if (end === -1) return bytes.length < v1MaxBytes ? incomplete : invalid;
  const [, protocol, source = '', destination = '', port = '', destinationPort = '', ...rest] = bytes
    .toString('latin1', 0, end)
    .split(' ');
  const lengthBytes = end + 2;
  // The rest of an UNKNOWN line is ignored.
  if (protocol === 'UNKNOWN') return { kind: 'complete', lengthBytes, client: null };
  const isAddress = protocol === 'TCP4' ? isIPv4 : protocol === 'TCP6' ? isIPv6 : () => false;
  const isValid =
    rest.length === 0 && isAddress(source) && isAddress(destination) && isPort(port) && isPort(destinationPort);
  return isValid ? { kind: 'complete', lengthBytes, client: { address: source, port: Number(port) } } : invalid;
}

const isPort = (text: string): boolean => /^(0|[1-9]\d{0,4})$/.test(text) && Number(text) <= 65_535;

function readVersion2(bytes: Buffer): ProxyHeader {
  if (bytes.length < v2FixedBytes) return incomplete;
  const [command, family, payloadBytes] = [bytes.readUInt8(12), bytes.readUInt8(13), bytes.readUInt16BE(14)];
  if (command !== v2Command.local && command !== v2Command.proxy) return invalid;
  if (payloadBytes > v2MaxPayloadBytes) return invalid;
  const lengthBytes = v2FixedBytes + payloadBytes;
  if (bytes.length < lengthBytes) return incomplete;
  if (command === v2Command.local) return { kind: 'complete', lengthBytes, client: null };
  const client = readVersion2Client(family, bytes.subarray(v2FixedBytes, lengthBytes));
  return client === undefined ? invalid : { kind: 'complete', lengthBytes, client };
}

/** Returns null for an unspecified family, and undefined for one that no TCP connection has. */
function readVersion2Client(family: number, payload: Buffer): ProxiedClient | null | undefined {
  if (family === 0) return null;
  if (family === v2TcpOverIpv4 && payload.length >= 12)
    return { address: payload.subarray(0, 4).join('.'), port: payload.readUInt16BE(8) };
  if (family === v2TcpOverIpv6 && payload.length >= 36)
    return { address: formatIpv6(payload.subarray(0, 16)), port: payload.readUInt16BE(32) };
  return undefined;
}

/** Formats an address as the system does. */
function formatIpv6(bytes: Buffer): string {
  const groups = Array.from({ length: 8 }, (_, index) => bytes.readUInt16BE(index * 2).toString(16));
  return new URL(`http://[${groups.join(':')}]`).hostname.slice(1, -1);
}
