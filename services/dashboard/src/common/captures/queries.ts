import { ApiFailure } from '@fleet/api-client';
import { type QueryClient, useMutation, useQueries, useQuery, useQueryClient } from '@tanstack/react-query';
import { keepSignedUrls } from '../data/keep-signed-urls.ts';
import { createIdempotencyKey } from '../forms/idempotency-key.ts';
import { useSession } from '../session/session-context.ts';
import { addEntry, type Capture, type CaptureEntry, type CaptureRequest, stateOf } from './capture-entry.ts';

const storageName = 'fleet-captures';
const entriesKey = ['captures', 'entries'];
/** Failures have no event of the websocket. */
const refreshMs = 3_000;
/** A refusal arrives within this time; the files follow later. */
const waitSeconds = 1;
const noEntries: readonly CaptureEntry[] = [];

const readEntries = (): readonly CaptureEntry[] => {
  const stored = sessionStorage.getItem(storageName);
  return stored === null ? noEntries : (JSON.parse(stored) as CaptureEntry[]);
};

/** Keeps the entries until the tab is closed. */
function saveEntries(
  queries: QueryClient,
  change: (entries: readonly CaptureEntry[]) => readonly CaptureEntry[],
): void {
  const entries = change(queries.getQueryData<readonly CaptureEntry[]>(entriesKey) ?? readEntries());
  sessionStorage.setItem(storageName, JSON.stringify(entries));
  queries.setQueryData(entriesKey, entries);
}

/** What is requested; a retry has the key of the entry that it replaces. */
type NewCapture = CaptureRequest & { readonly key?: string };

/** Returns the mutation that takes a picture or records a clip. The activity tray follows it on every page. */
export function useRequestCapture() {
  const { api } = useSession();
  const queries = useQueryClient();
  const add = (request: NewCapture, captureId: string | null, refusal: string | null): void =>
    saveEntries(queries, (entries) =>
      addEntry(entries, { key: createIdempotencyKey(), ...request, requestedAtMs: Date.now(), captureId, refusal }),
    );
  return useMutation({
    mutationFn: async ({ vehicleId, channelId, kind, seconds }: NewCapture) => {
      const duration = seconds === null ? {} : { duration_seconds: seconds };
      const query = { channel_id: channelId, kind, wait: waitSeconds, ...duration };
      const params = { path: { vehicleId }, query };
      const { data } = await api.POST('/api/vehicles/{vehicleId}/dashcam-media-capture', { params });
      if (data === undefined) throw new Error('The server returned no capture.');
      return data.data;
    },
    onSuccess: (capture, request) => {
      queries.setQueryData(['getCapture', capture.capture_id], capture);
      add(request, capture.capture_id, null);
    },
    onError: (error, request) => add(request, null, error.message),
  });
}

/** Returns the options of the query of a capture. It is read again until its files have arrived. */
function useCaptureOptions() {
  const { api } = useSession();
  return (captureId: string | null) => ({
    queryKey: ['getCapture', captureId],
    structuralSharing: keepSignedUrls,
    enabled: captureId !== null,
    queryFn: async (): Promise<Capture | null> => {
      try {
        const params = { path: { captureId: captureId ?? '' } };
        return (await api.GET('/api/dashcam-captures/{captureId}', { params })).data?.data ?? null;
      } catch (error) {
        // The vehicle was deleted or is no longer visible.
        if (error instanceof ApiFailure && error.status === 404) return null;
        throw error;
      }
    },
    refetchInterval: ({ state }: { state: { data?: Capture | null | undefined } }) =>
      state.data === undefined || state.data?.status === 'pending' ? refreshMs : (false as const),
  });
}

export const useCapture = (captureId: string | null) => useQuery(useCaptureOptions()(captureId));

/** An entry with the newest record of its capture. */
export interface CaptureActivity {
  readonly entry: CaptureEntry;
  readonly capture: Capture | null | undefined;
}

/** Returns the pictures and clips that this tab has requested, and a function that removes those that have ended. */
export function useCaptureActivity() {
  const queries = useQueryClient();
  const optionsOf = useCaptureOptions();
  const { data: entries = noEntries } = useQuery({
    queryKey: entriesKey,
    queryFn: readEntries,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: Number.POSITIVE_INFINITY,
  });
  const captures = useQueries({ queries: entries.map(({ captureId }) => optionsOf(captureId)) });
  const activities: readonly CaptureActivity[] = entries.map((entry, index) => ({
    entry,
    capture: captures[index]?.data,
  }));
  const clear = (): void => {
    const running = activities.filter(({ entry, capture }) => stateOf(entry, capture) === 'pending');
    saveEntries(queries, () => running.map(({ entry }) => entry));
  };
  return { activities, clear };
}
