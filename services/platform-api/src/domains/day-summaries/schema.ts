import { type Static, Type } from 'typebox';
import { date } from '../../platform/schemas.ts';

export const daysQuery = Type.Object({
  month: Type.String({
    pattern: '^20\\d{2}-(0[1-9]|1[0-2])$',
    errorMessage: 'must be a month such as 2026-01',
    description: 'YYYY-MM, in the time zone of the vehicle.',
    examples: ['2026-01'],
  }),
});

const count = (description: string) => Type.Integer({ minimum: 0, description });

export const daySummarySchema = Type.Object(
  {
    date,
    distance_km: Type.Number({ minimum: 0, description: 'Of the trips that began on the day.' }),
    driving_seconds: count('Duration of these trips without standstill.'),
    events: Type.Object(
      { critical: count('Number of critical ones.'), warning: count('Warnings.'), info: count('Others.') },
      { description: 'Notifications; 0 without the permission `notifications`.' },
    ),
    media: count('Pictures and other files taken on the day; 0 without the permission `history_video`.'),
    recordings: count(
      'Recordings on the cameras that began on the day, by the stored lists; 0 without the permission `history_video`.',
    ),
  },
  { title: 'DaySummary' },
);
export type DaySummary = Static<typeof daySummarySchema>;
