import { Button, Group, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useCan } from '../../../common/session/session-context.ts';
import { Failure } from '../../../common/ui/states.tsx';
import { useAcknowledge } from '../queries.ts';

/** Acknowledges the checked events with one note. */
export function BulkBar({ ids, onDone }: { ids: readonly number[]; onDone: () => void }) {
  const { t } = useTranslation('events');
  const can = useCan();
  const acknowledge = useAcknowledge();
  const [note, setNote] = useState('');
  const failed = acknowledge.data?.length ?? 0;
  if (!can('commands')) return null;
  return (
    <div className="events-bulk">
      <Text role="status" size="sm">
        {failed > 0 ? t('bulk.failed', { count: failed }) : ''}
      </Text>
      {acknowledge.isError ? <Failure error={acknowledge.error} /> : null}
      {ids.length === 0 ? null : (
        <form
          aria-label={t('bulk.label')}
          onSubmit={(event) => {
            event.preventDefault();
            acknowledge.mutate({ ids, note }, { onSuccess: onDone });
          }}
        >
          <Group gap="sm" wrap="nowrap">
            <Text size="sm">{t('bulk.selected', { count: ids.length })}</Text>
            <TextInput
              size="xs"
              flex={1}
              aria-label={t('bulk.note')}
              placeholder={t('note')}
              value={note}
              maxLength={1000}
              onChange={({ currentTarget }) => setNote(currentTarget.value)}
            />
            <Button type="submit" size="xs" loading={acknowledge.isPending}>
              {t('bulk.acknowledge')}
            </Button>
          </Group>
        </form>
      )}
    </div>
  );
}
