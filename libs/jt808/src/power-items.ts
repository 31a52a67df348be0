import type { AdditionalItem } from './additional-items.ts';
import { hexId } from './fields/index.ts';

/** Power of a terminal, as reported by its additional items. */
export interface PowerReading {
  /** Charge of the terminal's own battery; null if no item reports it. */
  readonly batteryPercent: number | null;
  /** Supply voltage of the vehicle; null if no item reports it. */
  readonly externalVoltage: number | null;
}

/** One vendor item, or one of the items packed inside 0xEB. */
interface PowerItem {
  readonly id: number;
  readonly isPacked?: boolean;
  readonly field: keyof PowerReading;
  readonly bytes: 1 | 2;
  /** Value of one unit. */
  readonly unit: number;
}

/**
 * Upper limit: no vehicle has a higher supply voltage, so a larger value is another vendor's item. Percentages end at
 * 100 as well.
 */
const maxValue = 100;

/**
 * Vendor items that have a single meaning among all known vendors at this length. The standard has no such item, and
 * vendors reuse the ids with other lengths.
 */
const powerItemDefinitions: readonly PowerItem[] = [
  ...[0x06, 0xd4, 0xe1, 0xe9, 0xfe].map((id): PowerItem => ({ id, field: 'batteryPercent', bytes: 1, unit: 1 })),
  { id: 0x68, field: 'batteryPercent', bytes: 2, unit: 0.01 },
  { id: 0x00a8, isPacked: true, field: 'batteryPercent', bytes: 1, unit: 1 },
  { id: 0x61, field: 'externalVoltage', bytes: 2, unit: 0.01 },
  ...[0x82, 0xd3, 0xe1].map((id): PowerItem => ({ id, field: 'externalVoltage', bytes: 2, unit: 0.1 })),
  { id: 0x00ce, isPacked: true, field: 'externalVoltage', bytes: 2, unit: 0.01 },
];

/** Tenths of the charge and a reserved byte of 0. */
const chargeLevelId = 0x56;
/** Items of WORD length, WORD id and value. The length counts the id. */
const packedItemId = 0xeb;

/** Rows of the documentation: id, length and value. */
export const powerItemRows: readonly (readonly [id: string, length: string, value: string])[] = [
  ...powerItemDefinitions.map(({ id, isPacked, field, bytes, unit }): [string, string, string] => [
    isPacked === true ? `${hexId(packedItemId, 2)}, inside it ${hexId(id, 4)}` : hexId(id, 2),
    String(bytes),
    `${field === 'batteryPercent' ? 'battery' : 'supply voltage'}, ${unit === 1 ? '' : `${unit} `}${field === 'batteryPercent' ? '%' : 'V'}`,
  ]),
  [hexId(chargeLevelId, 2), '2', 'battery, 10 % in the first byte, the second byte is 0'],
];

/** Returns the battery charge and supply voltage of a location's additional items. */
export function readPower(items: readonly AdditionalItem[]): PowerReading {
  const reading: { -readonly [K in keyof PowerReading]: PowerReading[K] } = {
    batteryPercent: null,
    externalVoltage: null,
  };
  for (const item of items) {
    if (item.id === chargeLevelId) reading.batteryPercent ??= readChargeLevel(item.bytes);
    const isPacked = item.id === packedItemId;
    for (const { id, bytes } of isPacked ? unpack(item.bytes) : [item]) {
      const definition = powerItemDefinitions.find(
        (each) => each.id === id && (each.isPacked === true) === isPacked && each.bytes === bytes.length,
      );
      if (definition !== undefined) reading[definition.field] ??= readValue(definition, bytes);
    }
  }
  return reading;
}

function readChargeLevel(bytes: Buffer): number | null {
  return bytes.length === 2 && bytes[1] === 0 ? limitToMax(bytes.readUInt8(0) * 10) : null;
}

/** Divides, because a product such as 1375 * 0.01 is not exact. */
const readValue = ({ bytes: length, unit }: PowerItem, bytes: Buffer): number | null =>
  limitToMax(bytes.readUIntBE(0, length) / Math.round(1 / unit));

/** Returns the items inside 0xEB, or none if its content has another form, such as a list of radio cells. */
function unpack(bytes: Buffer): AdditionalItem[] {
  const packed: AdditionalItem[] = [];
  let at = 0;
  while (at + 4 <= bytes.length) {
    const length = bytes.readUInt16BE(at);
    if (length < 2) return [];
    packed.push({ id: bytes.readUInt16BE(at + 2), bytes: bytes.subarray(at + 4, at + 2 + length) });
    at += 2 + length;
  }
  return at === bytes.length ? packed : [];
}

const limitToMax = (value: number): number | null => (value <= maxValue ? value : null);
