import type { AttachmentPacket } from '@fleet/jt808';

/** A name truncated at 50 bytes may end in half a character. */
const truncatedSuffix = /\uFFFD+$/;

/** Returns the announced name of a data packet: the equal one, or the only one that starts with the truncated name. */
export function matchFileName(packet: AttachmentPacket, announced: readonly string[]): string | undefined {
  const { name, isNameFull } = packet;
  if (announced.includes(name) || !isNameFull) return announced.includes(name) ? name : undefined;
  const start = name.replace(truncatedSuffix, '');
  const matches = announced.filter((each) => each.startsWith(start));
  return matches.length === 1 ? matches[0] : undefined;
}

/** Returns the logical channel of a file from a name such as `02_1_6502_0_<alarm number>.mp4`; 0 for other forms. */
export function parseChannel(name: string): number {
  const channel = Number(/^\d{1,2}_(\d{1,3})_[0-9A-Fa-f]+_\d+_/.exec(name)?.[1] ?? 0);
  return channel <= 255 ? channel : 0;
}
