/** Payload types, JT/T 1078-2016 table 12. */
export const PayloadType = {
  G721: 1,
  G722: 2,
  G723: 3,
  G728: 4,
  G729: 5,
  G711A: 6,
  G711U: 7,
  G726: 8,
  G729A: 9,
  DVI4_3: 10,
  DVI4_4: 11,
  DVI4_8K: 12,
  DVI4_16K: 13,
  LPC: 14,
  S16BE_STEREO: 15,
  S16BE_MONO: 16,
  MPEGAUDIO: 17,
  LPCM: 18,
  AAC: 19,
  WMA9STD: 20,
  HEAAC: 21,
  PCM_VOICE: 22,
  PCM_AUDIO: 23,
  AACLC: 24,
  MP3: 25,
  ADPCMA: 26,
  MP4AUDIO: 27,
  AMR: 28,
  TRANSPARENT: 91,
  H264: 98,
  H265: 99,
  AVS: 100,
  SVAC: 101,
} as const;

/** Data type nibble of byte 15, JT/T 1078-2016 table 19. It alone determines the header length. */
export const DataType = { I: 0, P: 1, B: 2, AUDIO: 3, TRANSPARENT: 4 } as const;

/** Subpackage mark, JT/T 1078-2016 table 19. Note the order: 2 is last, 3 is middle. */
export const SubpackageMark = { ATOMIC: 0, FIRST: 1, LAST: 2, MIDDLE: 3 } as const;

const payloadNames = new Map<number, string>(Object.entries(PayloadType).map(([name, value]) => [value, name]));

/** Returns the name of a payload type as in JT/T 1078-2016 table 12, or `PT<n>` for reserved and custom ones. */
export const getPayloadTypeName = (payloadType: number): string => payloadNames.get(payloadType) ?? `PT${payloadType}`;

/** Width of the SIM field: 6 bytes (JT/T 1078-2016) or 10 bytes (terminals with JT/T 808-2019). */
export type SimBytes = 6 | 10;

/** Kind of media in a packet or frame. I, P and B are one kind, so that all fragments of a frame are joined. */
export type MediaKind = 'video' | 'audio' | 'transparent';
