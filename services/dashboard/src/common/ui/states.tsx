import { ApiFailure } from '@fleet/api-client';
import { Alert, Button, Group, Loader, Stack, Text } from '@mantine/core';
import { type ReactNode, useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';

const quietMs = 300;
const slowMs = 5_000;

/** Shows nothing for 300 ms, then a loader, and after five seconds that the page still loads. */
export function Loading() {
  const { t } = useTranslation();
  const [stage, setStage] = useState<'quiet' | 'loading' | 'slow'>('quiet');
  useEffect(() => {
    const timers = [setTimeout(() => setStage('loading'), quietMs), setTimeout(() => setStage('slow'), slowMs)];
    return () => timers.forEach(clearTimeout);
  }, []);
  if (stage === 'quiet') return null;
  return (
    <Stack align="center" p="xl" role="status">
      <Loader size="sm" />
      <Text c="dimmed">{stage === 'slow' ? t('loading.slow') : t('loading.title')}</Text>
    </Stack>
  );
}

/** Says what belongs here and why it is empty, with one action. */
export function Empty({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <Stack align="center" p="xl" gap="sm">
      <Text fw={600}>{title}</Text>
      {children}
    </Stack>
  );
}

/** Shows a failure: what happened, the request id, and a retry. */
export function Failure({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  const { t } = useTranslation();
  return (
    <Alert color="critical" variant="outline" title={t('failure.title')} role="alert">
      <Text>{describeFailure(error, t('failure.unknown'))}</Text>
      <Group mt="sm" gap="md">
        {onRetry === undefined ? null : (
          <Button size="xs" variant="default" onClick={onRetry}>
            {t('failure.retry')}
          </Button>
        )}
        {error instanceof ApiFailure && error.requestId !== null ? (
          <Text size="xs" c="dimmed">
            {t('failure.requestId', { id: error.requestId })}
          </Text>
        ) : null}
      </Group>
    </Alert>
  );
}

/** Returns the sentence of the server with the faults of the request. */
function describeFailure(error: unknown, unknownText: string): string {
  if (!(error instanceof ApiFailure)) return unknownText;
  const faults = error.details.map(({ path, message }) => `${path.slice(1)}: ${message}`);
  return [error.message, ...faults].join(' ');
}
