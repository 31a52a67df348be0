import type { components } from '@fleet/api-client';
import { keepPreviousData, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { keepSignedUrls } from '../../common/data/keep-signed-urls.ts';
import { useLiveEvents } from '../../common/live/live-context.ts';
import { useSession } from '../../common/session/session-context.ts';

export type MediaFile = components['schemas']['Media'];

export const filesPerPage = 48;
const listKey = 'listDashcamMedia';

/** Returns the query of the files of a vehicle, the newest first. A new file appears without a reload. */
export function useFiles(vehicleId: number, kind: 'image' | 'video', page: number) {
  const { api } = useSession();
  const queries = useQueryClient();
  useLiveEvents(({ type }) => {
    if (type === 'media') void queries.invalidateQueries({ queryKey: [listKey] });
  });
  return useQuery({
    queryKey: [listKey, vehicleId, kind, page],
    structuralSharing: keepSignedUrls,
    queryFn: async () => {
      const query = { kind, limit: filesPerPage, offset: (page - 1) * filesPerPage };
      const { data } = await api.GET('/api/vehicles/{vehicleId}/list-dashcam-media', {
        params: { path: { vehicleId }, query },
      });
      if (data === undefined) throw new Error('The server returned no files.');
      return data;
    },
    placeholderData: keepPreviousData,
  });
}

/** Returns the mutation that protects a file, or removes its protection. */
export function useProtect() {
  const { api } = useSession();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: ({ id, isProtected }: { readonly id: number; readonly isProtected: boolean }) =>
      api.PUT('/api/dashcam-media/{id}', { params: { path: { id } }, body: { protected: isProtected } }),
    onSuccess: () => queries.invalidateQueries({ queryKey: [listKey] }),
  });
}

/** Returns the mutation that deletes a file with its upload. */
export function useDeleteFile() {
  const { api } = useSession();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (id: number) => api.DELETE('/api/dashcam-media/{id}', { params: { path: { id } } }),
    onSuccess: () =>
      Promise.all([
        queries.invalidateQueries({ queryKey: [listKey] }),
        queries.invalidateQueries({ queryKey: ['listDownloadedDashcamVideos'] }),
      ]),
  });
}
