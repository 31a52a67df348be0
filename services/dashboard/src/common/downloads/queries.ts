import { keepPreviousData, type QueryClient, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { keepSignedUrls } from '../data/keep-signed-urls.ts';
import { useLiveEvents } from '../live/live-context.ts';
import { useSession } from '../session/session-context.ts';
import type { Download } from './download.ts';

export type DownloadAction = 'pause' | 'resume' | 'cancel';

/** Uploads of one request; the server returns at most 200. */
export const downloadsPerPage = 50;

interface DownloadFilter {
  readonly vehicle?: number | undefined;
  readonly status?: Download['status'] | undefined;
  readonly page?: number | undefined;
}

const listKey = 'listDownloadedDashcamVideos';

interface DownloadPage {
  readonly data: readonly Download[];
  readonly meta: { readonly pagination: { readonly total: number } };
}

/** Returns the query of the uploads of a page, the newest request first. It follows the live events. */
export function useDownloads({ vehicle, status, page = 1 }: DownloadFilter, limit = downloadsPerPage, enabled = true) {
  const { api } = useSession();
  useLiveDownloads();
  return useQuery({
    enabled,
    queryKey: [listKey, { vehicle, status, page, limit }],
    structuralSharing: keepSignedUrls,
    queryFn: async (): Promise<DownloadPage> => {
      const filter = {
        ...(vehicle === undefined ? {} : { vehicle_id: vehicle }),
        ...(status === undefined ? {} : { status }),
      };
      const query = { ...filter, limit, offset: (page - 1) * limit };
      const { data } = await api.GET('/api/user/downloaded-dashcam-videos', { params: { query } });
      if (data === undefined) throw new Error('The server returned no uploads.');
      return data;
    },
    placeholderData: keepPreviousData,
  });
}

/** Replaces an upload in all lists. Events have no addresses and no name, so those of the list remain. */
function replaceDownload(queries: QueryClient, changed: Download): void {
  queries.setQueriesData<DownloadPage>({ queryKey: [listKey] }, (before) =>
    before === undefined
      ? before
      : {
          ...before,
          data: before.data.map((one) => (one.video_id === changed.video_id ? keepUrlsAndName(one, changed) : one)),
        },
  );
}

const keepUrlsAndName = (before: Download, changed: Download): Download => ({
  ...changed,
  requested_by_name: changed.requested_by_name ?? before.requested_by_name ?? null,
  download_url: changed.download_url ?? before.download_url,
  thumbnail_url: changed.thumbnail_url ?? before.thumbnail_url,
  mp4: changed.mp4 === null ? null : { ...changed.mp4, url: changed.mp4.url ?? before.mp4?.url ?? null },
});

const isKnown = (queries: QueryClient, videoId: string): boolean =>
  queries
    .getQueriesData<DownloadPage>({ queryKey: [listKey] })
    .some(([, page]) => page?.data.some((one) => one.video_id === videoId) === true);

/** Keeps the lists current: progress is patched; new uploads and new files are read again. */
function useLiveDownloads(): void {
  const queries = useQueryClient();
  useLiveEvents(({ type, data }) => {
    if (type !== 'upload') return;
    const changed = data as Download;
    const hasNewFile = changed.status === 'completed' || changed.mp4?.status === 'completed';
    if (hasNewFile || !isKnown(queries, changed.video_id)) void queries.invalidateQueries({ queryKey: [listKey] });
    else replaceDownload(queries, changed);
  });
}

/** A clip that the user chose. */
interface ClipRequest {
  readonly vehicleId: number;
  readonly channelId: number;
  readonly fromMs: number;
  readonly toMs: number;
}

/** Returns the mutation that requests a clip from a camera. */
export function useRequestClip() {
  const { api } = useSession();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: async ({ vehicleId, channelId, fromMs, toMs }: ClipRequest) => {
      const span = { from: new Date(fromMs).toISOString(), to: new Date(toMs).toISOString() };
      const body = { vehicle_id: vehicleId, channel_id: channelId, ...span };
      return (await api.POST('/api/dashcam-downloads', { body })).data?.data;
    },
    onSettled: () => queries.invalidateQueries({ queryKey: [listKey] }),
  });
}

/** Returns the mutation that pauses, resumes or cancels an upload. */
export function useControlDownload() {
  const { api } = useSession();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: async ({ videoId, action }: { readonly videoId: string; readonly action: DownloadAction }) =>
      (
        await api.POST('/api/dashcam-downloads/{videoId}/control', {
          params: { path: { videoId } },
          body: { action },
        })
      ).data?.data,
    onSuccess: (changed) => changed !== undefined && replaceDownload(queries, changed),
  });
}

/** Returns the mutation that requests or cancels the conversion of a clip to MP4. */
export function useConvert() {
  const { api } = useSession();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: async ({ videoId, isWanted }: { readonly videoId: string; readonly isWanted: boolean }) => {
      const params = { path: { videoId } };
      const { data } = isWanted
        ? await api.POST('/api/dashcam-downloads/{videoId}/mp4', { params })
        : await api.DELETE('/api/dashcam-downloads/{videoId}/mp4', { params });
      return data?.data;
    },
    onSuccess: (changed) => changed !== undefined && replaceDownload(queries, changed),
  });
}
