/** Frame as returned by the reference splitter. */
interface ReferenceFrame {
  messageId: number;
  phone: string;
  serial: number;
  body: string;
}

/**
 * Returns the frames of a whole stream, optimised for readability: splits at flags, unescapes, verifies the check byte,
 * compares lengths. Tests compare the fast splitter with it.
 */
export function referenceSplit(stream: Buffer): ReferenceFrame[] {
  const first = stream.indexOf(0x7e);
  const last = stream.lastIndexOf(0x7e);
  if (first === -1 || first === last) return [];
  const spans =
    stream
      .subarray(first, last + 1)
      .toString('hex')
      .toUpperCase()
      .match(/../g)
      ?.join(' ')
      .split('7E') ?? [];
  return spans.flatMap((span) => parseReferenceFrame(span.trim().split(' ')) ?? []);
}

function parseReferenceFrame(escaped: string[]): ReferenceFrame | undefined {
  if (escaped.length > 2090) return undefined;
  const text = escaped
    .join(' ')
    .replace(/7D$/, '7D 01')
    .replaceAll(/7D (..)/g, (_pair, next: string) => (next === '01' ? '7D' : next === '02' ? '7E' : 'bad'));
  if (text.includes('bad')) return undefined;
  const bytes = Buffer.from(text.replaceAll(' ', ''), 'hex');
  if (bytes.length < 13 || bytes.reduce((sum, byte) => sum ^ byte, 0) !== 0) return undefined;
  const properties = bytes.readUInt16BE(2);
  const item = (properties & 0x2000) === 0 ? 0 : 4;
  const body = properties & 0x3ff;
  const is2019 = (properties & 0x4000) !== 0 && bytes.length === 17 + item + body + 1;
  const header = (is2019 ? 17 : 12) + item;
  if (bytes.length !== header + body + 1) return undefined;
  const phone = bytes.subarray(is2019 ? 5 : 4, header - item - 2);
  if (item !== 0) {
    const [total, no] = [bytes.readUInt16BE(header - 4), bytes.readUInt16BE(header - 2)];
    if (no === 0 || no > total) return undefined;
  }
  return {
    messageId: bytes.readUInt16BE(0),
    phone: phone.toString('hex').toUpperCase(),
    serial: bytes.readUInt16BE(header - item - 2),
    body: bytes.subarray(header, -1).toString('hex'),
  };
}
