import { Button, Code, Group, Modal, SegmentedControl, Stack, Text, Title } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { CopyText } from '../../../common/ui/copy-text.tsx';
import type { Webhook } from './queries.ts';
import { TestEvent } from './test-event.tsx';
import { type SampleLanguage, sampleLanguages, sampleNames, verificationSamples } from './verification-samples.ts';

/** A secret that the server has just returned. */
export interface NewSecret {
  readonly webhook: Webhook;
  readonly secret: string;
}

/** Shows a new secret once, with programs that verify requests, and sends a test. */
export function SecretOnce({ webhook, secret, onClose }: NewSecret & { onClose: () => void }) {
  const { t } = useTranslation('profile');
  return (
    <Modal
      opened
      onClose={onClose}
      title={t('webhooks.secretTitle')}
      size="xl"
      // A click beside the dialog must not lose the secret.
      closeOnClickOutside={false}
      closeButtonProps={{ 'aria-label': t('common:action.close') }}
    >
      <Stack gap="lg">
        <div>
          <Text mb="sm">{t('webhooks.secretOnce')}</Text>
          <Group wrap="nowrap">
            <Code className="secret">{secret}</Code>
            <CopyText text={secret} />
          </Group>
        </div>
        <VerificationSamples />
        <TestEvent webhookId={webhook.id} />
        <Group justify="flex-end">
          <Button onClick={onClose}>{t('webhooks.secretSaved')}</Button>
        </Group>
      </Stack>
    </Modal>
  );
}

function VerificationSamples() {
  const { t } = useTranslation('profile');
  const [language, setLanguage] = useState<SampleLanguage>('node');
  const sample = verificationSamples[language];
  return (
    <Stack gap="sm">
      <Title order={3} size="h5">
        {t('webhooks.verify')}
      </Title>
      <Group justify="space-between">
        <SegmentedControl
          aria-label={t('webhooks.sampleLanguage')}
          data={sampleLanguages.map((value) => ({ value, label: sampleNames[value] }))}
          value={language}
          onChange={(value) => setLanguage(value)}
        />
        <CopyText text={sample} label={t('webhooks.copySample')} />
      </Group>
      {/* Scrolls, so that the keyboard must reach it. */}
      <pre className="sample" tabIndex={0} aria-label={sampleNames[language]} role="region">
        {sample}
      </pre>
    </Stack>
  );
}
