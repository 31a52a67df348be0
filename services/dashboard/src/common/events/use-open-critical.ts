import { useQuery } from '@tanstack/react-query';
import { useSession } from '../session/session-context.ts';

const maxBadge = 99;
/** Older events no longer mark a vehicle on the map either. */
const openEventDays = 7;
const dayMs = 86_400_000;

/** Returns the number of recent critical events without acknowledgement, as the navigation shows it. */
export function useOpenCritical(): string | undefined {
  const { api } = useSession();
  const { data: open = 0 } = useQuery({
    queryKey: ['summarizeNotifications', 'badge'],
    queryFn: async () => {
      const from = String(Date.now() - openEventDays * dayMs);
      const query = { severity: 'critical' as const, acknowledged: false, from };
      return (await api.GET('/api/notifications/summary', { params: { query } })).data?.data.open.critical ?? 0;
    },
  });
  if (open === 0) return undefined;
  return open > maxBadge ? `${maxBadge}+` : String(open);
}
