import { useTranslation } from 'react-i18next';
import { useFormat, useNow } from '../format/preferences-context.ts';
import { useConnection } from '../live/live-context.ts';

/** Says whether the page receives live data; after a lost connection since when not, and when it retries. */
export function ConnectionStatus() {
  const { t } = useTranslation();
  const connection = useConnection();
  return (
    <span className="connection" data-state={connection.kind} role="status">
      {connection.kind === 'disconnected' ? <Disconnected {...connection} /> : t(`connection.${connection.kind}`)}
    </span>
  );
}

function Disconnected({ sinceMs, retryAtMs }: { sinceMs: number; retryAtMs: number }) {
  const { t } = useTranslation();
  const format = useFormat();
  const nowMs = useNow();
  const seconds = Math.max(0, Math.ceil((retryAtMs - nowMs) / 1000));
  return t('connection.disconnected', { time: format.dateTime(sinceMs), seconds });
}
