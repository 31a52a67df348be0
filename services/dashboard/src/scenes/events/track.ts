import type { components } from '@fleet/api-client';
import { useQuery } from '@tanstack/react-query';
import type { EventRecord } from '../../common/events/event-record.ts';
import { useSession } from '../../common/session/session-context.ts';

type Fix = components['schemas']['Location'];

/** The track around an event: two minutes. */
const aroundMs = 60_000;
/** A report further away does not describe the event. */
const nearMs = 30_000;

/** Returns the track around an event, and the report closest to it. */
export function useTrack({ vehicle_id: vehicleId, timestamp }: EventRecord): {
  readonly track: readonly (readonly [number, number])[];
  readonly fix: Fix | undefined;
} {
  const { api } = useSession();
  const { data = [] } = useQuery({
    queryKey: ['listLocations', 'event', vehicleId, timestamp],
    queryFn: async () => {
      const query = { from: String(timestamp - aroundMs), to: String(timestamp + aroundMs) };
      const { data: body } = await api.GET('/api/vehicles/{vehicleId}/locations', {
        params: { path: { vehicleId }, query },
      });
      // Other formats than JSON are not requested.
      return (body as { readonly data?: readonly Fix[] } | undefined)?.data ?? [];
    },
  });
  const closest = data.reduce<Fix | undefined>(
    (best, fix) =>
      best === undefined || Math.abs(fix.timestamp - timestamp) < Math.abs(best.timestamp - timestamp) ? fix : best,
    undefined,
  );
  return {
    track: data.map(({ latitude, longitude }) => [latitude, longitude] as const),
    fix: closest !== undefined && Math.abs(closest.timestamp - timestamp) <= nearMs ? closest : undefined,
  };
}
