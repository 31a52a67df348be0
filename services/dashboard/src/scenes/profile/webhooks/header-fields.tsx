import { Button, Group, Stack, Text, TextInput } from '@mantine/core';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import type { HeaderRow } from './model.ts';

const maxHeaders = 10;

interface HeaderFieldsProps {
  readonly value?: readonly HeaderRow[];
  readonly error?: ReactNode;
  readonly onChange?: (rows: HeaderRow[]) => void;
}

/** Edits the headers that a webhook sends in addition to the platform's own. */
export function HeaderFields({ value = [], error, onChange }: HeaderFieldsProps) {
  const { t } = useTranslation('profile');
  const change = (index: number, row: Partial<HeaderRow>): void =>
    onChange?.(value.map((old, at) => (at === index ? { ...old, ...row } : old)));
  return (
    <Stack gap="xs" role="group" aria-label={t('webhooks.headers')}>
      <Text size="sm" fw={500}>
        {t('webhooks.headers')}
      </Text>
      {value.map((row, index) => (
        // Rows have no identity of their own, and are edited in place.
        <Group key={index} wrap="nowrap" gap="xs">
          <TextInput
            aria-label={t('webhooks.headerName')}
            placeholder={t('webhooks.headerName')}
            value={row.name}
            onChange={({ currentTarget }) => change(index, { name: currentTarget.value })}
          />
          <TextInput
            flex={1}
            aria-label={t('webhooks.headerValue')}
            placeholder={t('webhooks.headerValue')}
            value={row.value}
            onChange={({ currentTarget }) => change(index, { value: currentTarget.value })}
          />
          <Button
            size="compact-sm"
            variant="default"
            aria-label={t('webhooks.removeHeader', { name: row.name })}
            onClick={() => onChange?.(value.filter((_row, at) => at !== index))}
          >
            ×
          </Button>
        </Group>
      ))}
      {error === undefined || error === null ? null : (
        <Text size="sm" c="critical" role="alert">
          {error}
        </Text>
      )}
      <Group>
        <Button
          size="compact-sm"
          variant="default"
          disabled={value.length >= maxHeaders}
          onClick={() => onChange?.([...value, { name: '', value: '' }])}
        >
          {t('webhooks.addHeader')}
        </Button>
      </Group>
    </Stack>
  );
}
