import { Button } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { useFormat, useNow } from '../format/preferences-context.ts';
import { useConnection, useLiveConnection } from '../live/live-context.ts';

/** Says whether the page receives live data; after a lost connection since when not, and when it retries. */
export function ConnectionStatus() {
  const connection = useConnection();
  return (
    <span className="connection" data-state={connection.kind} role="status">
      <Content />
    </span>
  );
}

function Content() {
  const { t } = useTranslation();
  const connection = useConnection();
  if (connection.kind === 'disconnected') return <Disconnected {...connection} />;
  if (connection.kind !== 'slow') return t(`connection.${connection.kind}`);
  return t('connection.slow', { seconds: Math.round(connection.delayMs / 1_000) });
}

function Disconnected({ sinceMs, retryAtMs }: { sinceMs: number; retryAtMs: number }) {
  const { t } = useTranslation();
  const format = useFormat();
  const getConnection = useLiveConnection();
  const nowMs = useNow();
  const seconds = Math.max(0, Math.ceil((retryAtMs - nowMs) / 1000));
  return (
    <>
      {t('connection.disconnected', { time: format.dateTime(sinceMs), seconds })}
      <Button size="compact-xs" variant="default" onClick={() => getConnection()?.reconnect()}>
        {t('connection.now')}
      </Button>
    </>
  );
}
