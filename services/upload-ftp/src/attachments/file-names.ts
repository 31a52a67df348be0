import type { AttachmentPacket } from '@fleet/jt808';

/** A name cut at 50 bytes may end in half a character. */
const cutOff = /\uFFFD+$/;

/** The announced name that a data packet means: the same one, or the only one that its cut name begins. */
export function nameOf(packet: AttachmentPacket, announced: readonly string[]): string | undefined {
  const { name, isNameFull } = packet;
  if (announced.includes(name) || !isNameFull) return announced.includes(name) ? name : undefined;
  const start = name.replace(cutOff, '');
  const meant = announced.filter((each) => each.startsWith(start));
  return meant.length === 1 ? meant[0] : undefined;
}

/** Logical channel of a file, from a name such as `02_1_6502_0_<alarm number>.mp4`; 0 where it follows another form. */
export function channelOf(name: string): number {
  const channel = Number(/^\d{1,2}_(\d{1,3})_[0-9A-Fa-f]+_\d+_/.exec(name)?.[1] ?? 0);
  return channel <= 255 ? channel : 0;
}
