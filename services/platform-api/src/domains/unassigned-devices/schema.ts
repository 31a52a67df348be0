import { paginationQuery, sortParameter } from '@fleet/service-kit';
import { Type } from 'typebox';
import { text } from '../../platform/fields.ts';
import { nullable, recordId, time } from '../../platform/schemas.ts';
import { locationResponseSchema } from '../last-positions/responses.ts';

/** A terminal that connects and belongs to no vehicle; `_id` is the canonical number. */
export interface UnassignedDevice {
  readonly _id: string;
  /** Integer id, which lists are sorted by. */
  readonly number: number;
  readonly edition: '2011' | '2013' | '2019' | null;
  readonly manufacturer: string | null;
  readonly model: string | null;
  readonly terminalId: string | null;
  readonly plate: string | null;
  readonly firstSeen: Date;
  readonly lastSeen: Date;
}

/** What is learnt of such a terminal; undefined fields keep their value. */
export type UnassignedDetails = Partial<
  Pick<UnassignedDevice, 'edition' | 'manufacturer' | 'model' | 'terminalId' | 'plate'>
>;

/** Fields of `sort` by their stored names. */
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
  imei: text(1, 20, { description: 'The exact number; zeros in front do not count.' }),
});

export const unassignedDeviceResponse = Type.Object(
  {
    id: recordId,
    imei: Type.String({ description: 'As the terminal sends it, if that is known.' }),
    protocol: nullable(Type.String({ examples: ['jt808-2019'] })),
    manufacturer: nullable(Type.String()),
    model: nullable(Type.String()),
    terminal_id: nullable(Type.String()),
    plate: nullable(Type.String({ description: 'Plate of its registration, as the terminal sends it.' })),
    first_seen: time,
    last_seen: time,
    connected: Type.Boolean(),
    location: nullable(locationResponseSchema),
  },
  { title: 'UnassignedDevice' },
);
