import { ApiFailure } from '@fleet/api-client';
import { Alert, Button, Group, Loader, Stack, Text } from '@mantine/core';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';

const quietMs = 300;
const slowMs = 5_000;
const stuckMs = 15_000;
const countdownIntervalMs = 250;
/** Time before a limited request is repeated if the server names none. */
const defaultWaitSeconds = 5;

/** Shows nothing for 300 ms, then a loader, after five seconds that the page still loads, and after 15 a way out. */
export function Loading() {
  const { t } = useTranslation();
  const [stage, setStage] = useState<'quiet' | 'loading' | 'slow' | 'stuck'>('quiet');
  useEffect(() => {
    const timers = [
      setTimeout(() => setStage('loading'), quietMs),
      setTimeout(() => setStage('slow'), slowMs),
      setTimeout(() => setStage('stuck'), stuckMs),
    ];
    return () => timers.forEach(clearTimeout);
  }, []);
  if (stage === 'quiet') return null;
  return (
    <Stack align="center" p="xl" role="status">
      <Loader size="sm" />
      <Text c="dimmed">{stage === 'loading' ? t('loading.title') : t('loading.slow')}</Text>
      {stage === 'stuck' ? (
        <Button size="xs" variant="default" onClick={() => window.location.reload()}>
          {t('failure.retry')}
        </Button>
      ) : null}
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

/**
 * Shows a failure: what happened, the request id, and a retry. A request that was limited is repeated by itself after the
 * time that the server names.
 */
export function Failure({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  const { t } = useTranslation();
  const seconds = useCountdown(error, onRetry);
  return (
    <Alert color="critical" variant="outline" title={t('failure.title')} role="alert">
      <Text>{describeFailure(error, t('failure.unknown'))}</Text>
      <Group mt="sm" gap="md">
        {onRetry === undefined ? null : (
          <Button size="xs" variant="default" onClick={onRetry}>
            {seconds === null ? t('failure.retry') : t('failure.retryIn', { seconds })}
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

/** Returns the seconds until a limited request is repeated; null for another failure. */
function useCountdown(error: unknown, onRetry: (() => void) | undefined): number | null {
  const isLimited = error instanceof ApiFailure && error.status === 429 && onRetry !== undefined;
  const waitSeconds = isLimited ? Math.max(1, Math.ceil(error.retryAfterSeconds ?? defaultWaitSeconds)) : null;
  const [seconds, setSeconds] = useState(waitSeconds);
  const retry = useRef(onRetry);
  retry.current = onRetry;
  useEffect(() => {
    setSeconds(waitSeconds);
    if (waitSeconds === null) return undefined;
    const endMs = Date.now() + waitSeconds * 1_000;
    const timer = setInterval(() => {
      const left = Math.ceil((endMs - Date.now()) / 1_000);
      setSeconds(Math.max(0, left));
      if (left > 0) return;
      clearInterval(timer);
      retry.current?.();
    }, countdownIntervalMs);
    return () => clearInterval(timer);
    // Each failure counts down once.
  }, [error, waitSeconds]);
  return seconds;
}

/** Returns the sentence of the server with the faults of the request. */
function describeFailure(error: unknown, unknownText: string): string {
  if (!(error instanceof ApiFailure)) return unknownText;
  const faults = error.details.map(({ path, message }) => `${path.slice(1)}: ${message}`);
  return [error.message, ...faults].join(' ');
}
