import { Alert, Button, Group, Select, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Failure } from '../../../common/ui/states.tsx';
import { toAdviceKey, toOutcomeText } from './model.ts';
import { type Attempt, useNotificationTypes, useTestWebhook } from './queries.ts';

const defaultType = 'sos';

/** Sends an event of a chosen type at once, and shows what the receiver responded. */
export function TestEvent({ webhookId }: { webhookId: number }) {
  const { t } = useTranslation('profile');
  const types = useNotificationTypes();
  const test = useTestWebhook();
  const [type, setType] = useState(defaultType);
  return (
    <Stack>
      <Group align="end">
        <Select
          label={t('webhooks.testEvent')}
          data={types.data?.map(({ type: value, title }) => ({ value, label: title })) ?? []}
          value={type}
          onChange={(value) => setType(value ?? defaultType)}
          searchable
          limit={50}
          allowDeselect={false}
        />
        <Button loading={test.isPending} onClick={() => test.mutate({ id: webhookId, type })}>
          {t('webhooks.send')}
        </Button>
      </Group>
      {test.isError ? <Failure error={test.error} /> : null}
      {test.data === undefined || test.isPending ? null : <TestResult attempt={test.data} />}
    </Stack>
  );
}

function TestResult({ attempt }: { attempt: Attempt }) {
  const { t } = useTranslation('profile');
  const advice = toAdviceKey(attempt);
  const title = t('webhooks.testResult', { status: toOutcomeText(attempt), ms: attempt.duration_ms });
  return (
    <Alert color={advice === 'success' ? 'action' : 'critical'} variant="outline" title={title} role="status">
      <Text>{t(`webhooks.advice.${advice}`)}</Text>
      {attempt.response_body === null || attempt.response_body === '' ? null : (
        <pre className="exchange" tabIndex={0}>
          {attempt.response_body}
        </pre>
      )}
    </Alert>
  );
}
