import { paginationQuery, sortParameter } from '@fleet/service-kit';
import { Type } from 'typebox';
import { text } from '../../platform/fields.ts';
import { nullable, recordId, time } from '../../platform/schemas.ts';
import { locationResponseSchema } from '../last-positions/responses.ts';

/** A terminal that connects and belongs to no vehicle; `_id` is the canonical number. */
export interface UnassignedDevice {
  readonly _id: string;
  /** Integer id by which lists are sorted. */
  readonly number: number;
  readonly edition: '2011' | '2013' | '2019' | null;
  readonly manufacturer: string | null;
  readonly model: string | null;
  readonly terminalId: string | null;
  readonly plate: string | null;
  readonly firstSeen: Date;
  readonly lastSeen: Date;
}

/** Details of such a terminal; undefined fields do not change. */
export type UnassignedDetails = Partial<
  Pick<UnassignedDevice, 'edition' | 'manufacturer' | 'model' | 'terminalId' | 'plate'>
>;

/** Stored names of the fields of `sort`. */
export const sortFields: Readonly<Record<string, string>> = {
  id: 'number',
  first_seen: 'firstSeen',
  last_seen: 'lastSeen',
};

export const listUnassignedQuery = Type.Object({
  ...paginationQuery,
  sort: sortParameter(Object.keys(sortFields)),
});

export const lookupBody = Type.Object({
  imei: text(1, 20, { description: 'The exact number; leading zeros are ignored.' }),
});

export const unassignedDeviceResponse = Type.Object(
  {
    id: recordId,
    imei: Type.String({ description: 'The number as the terminal sends it, if known.' }),
    protocol: nullable(Type.String({ examples: ['jt808-2019'] })),
    manufacturer: nullable(Type.String()),
    model: nullable(Type.String()),
    terminal_id: nullable(Type.String()),
    plate: nullable(Type.String({ description: "Plate of the terminal's registration, as sent." })),
    first_seen: time,
    last_seen: time,
    connected: Type.Boolean(),
    location: nullable(locationResponseSchema),
  },
  { title: 'UnassignedDevice' },
);
