import { useMutation } from '@tanstack/react-query';
import { useSession } from '../../../common/session/session-context.ts';
import type { TimeSpan } from '../../../common/timeline/time-scale.ts';

/** Offers a file to the user, as a download of this name. */
function saveFile(content: Blob, name: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}

/** Returns a mutation that downloads the positions of a day. A long day becomes several files. */
export function useExport(vehicleId: number, day: TimeSpan) {
  const { api } = useSession();
  return useMutation({
    mutationFn: async (format: 'csv' | 'gpx') => {
      let from: string | null = String(day.fromMs);
      while (from !== null) {
        const query: { from: string; to: string; format: 'csv' | 'gpx' } = { from, to: String(day.toMs - 1), format };
        const { data, response } = await api.GET('/api/vehicles/{vehicleId}/locations', {
          params: { path: { vehicleId }, query },
          parseAs: 'blob',
        });
        const name = /filename="([^"]+)"/.exec(response.headers.get('content-disposition') ?? '')?.[1];
        saveFile(data as unknown as Blob, name ?? `positions.${format}`);
        from = response.headers.get('x-next-from');
      }
    },
  });
}
