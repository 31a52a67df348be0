/** What the gateway does with a message id of an authenticated terminal (JT/T 808 reference, section 6). */
export type UplinkKind =
  | 'answer'
  | 'location'
  | 'heartbeat'
  | 'logout'
  | 'retransmit'
  | 'multimedia'
  | 'event'
  | 'unknown';

const responseIds = [0x0104, 0x0107, 0x0201, 0x0500, 0x0608, 0x0700, 0x0802, 0x0805, 0x0a00, 0x1003, 0x1205];
const eventIds = [
  0x0108, 0x0301, 0x0302, 0x0303, 0x0701, 0x0702, 0x0705, 0x0800, 0x0900, 0x0901, 0x1005, 0x1206, 0x1210, 0x1211,
  0x1212,
];

const kindByMessageId = new Map<number, UplinkKind>([
  [0x0002, 'heartbeat'],
  [0x0003, 'logout'],
  [0x0005, 'retransmit'],
  [0x0200, 'location'],
  [0x0704, 'location'],
  [0x0801, 'multimedia'],
  ...responseIds.map((id): [number, UplinkKind] => [id, 'answer']),
  ...eventIds.map((id): [number, UplinkKind] => [id, 'event']),
]);

export const classifyUplink = (messageId: number): UplinkKind => kindByMessageId.get(messageId) ?? 'unknown';

/** Smallest body of a location message: the base of 0x0200, or count and type of 0x0704. */
export const minLocationBytes = (messageId: number): number => (messageId === 0x0704 ? 3 : 28);
