import { Alert, Button, Checkbox, Group, Stack, Text } from '@mantine/core';
import { IconScan } from '@tabler/icons-react';
import { useMutation } from '@tanstack/react-query';
import { type ChangeEvent, useRef } from 'react';
import { useTranslation } from 'react-i18next';
import { useSession } from '../../../common/session/session-context.ts';
import { Failure } from '../../../common/ui/states.tsx';
import { readAsBase64 } from '../read-as-base64.ts';
import type { ReadDocument as Result } from '../reading.ts';
import type { DocumentReading } from '../use-document-reading.ts';

/** Reads a document from a photo or a PDF, and fills the form with what it found. Nothing is saved by that. */
export function ReadDocument({ reading }: { reading: DocumentReading }) {
  const { t } = useTranslation('drivers');
  const { api } = useSession();
  const input = useRef<HTMLInputElement>(null);
  const read = useMutation({
    mutationFn: async (file: File) => {
      const body = { content_base64: await readAsBase64(file), document_type: 'auto' as const };
      return (await api.POST('/api/devices/extract-document', { body })).data?.data;
    },
    onSuccess: (result: Result | undefined, file) => {
      if (result !== undefined) reading.apply(result, file);
    },
  });
  const choose = ({ currentTarget }: ChangeEvent<HTMLInputElement>): void => {
    const file = currentTarget.files?.[0];
    currentTarget.value = '';
    if (file !== undefined) read.mutate(file);
  };
  return (
    <Stack gap="xs">
      <Group gap="sm">
        <Button
          variant="default"
          leftSection={<IconScan size={18} aria-hidden />}
          loading={read.isPending}
          onClick={() => input.current?.click()}
        >
          {t('read.button')}
        </Button>
        <input
          ref={input}
          type="file"
          hidden
          aria-label={t('read.button')}
          accept="image/jpeg,image/png,image/webp,application/pdf"
          onChange={choose}
        />
        {read.isPending ? <Text role="status">{t('read.running')}</Text> : null}
      </Group>
      {read.isError ? <Failure error={read.error} /> : null}
      {reading.file === null ? (
        <Text size="sm" c="dimmed">
          {t('read.hint')}
        </Text>
      ) : (
        <Alert variant="outline" role="status" title={t('read.done', { count: Object.keys(reading.fields).length })}>
          <Text size="sm">{t('read.check')}</Text>
          {reading.warnings.map((warning) => (
            <Text key={warning} size="sm" fw={600}>
              {warning}
            </Text>
          ))}
          <Checkbox
            mt="xs"
            label={t('read.keep')}
            checked={reading.isKept}
            onChange={({ currentTarget }) => reading.setIsKept(currentTarget.checked)}
          />
        </Alert>
      )}
    </Stack>
  );
}
