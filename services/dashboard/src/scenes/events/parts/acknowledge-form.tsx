import { Button, Stack, Text, Textarea } from '@mantine/core';
import { useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useSingleKeys } from '../../../common/commands/use-single-keys.ts';
import type { EventRecord } from '../../../common/events/event-record.ts';
import { useFormat } from '../../../common/format/preferences-context.ts';
import { Failure } from '../../../common/ui/states.tsx';
import { isOpen, readText } from '../model.ts';
import { useAcknowledge } from '../queries.ts';

interface AcknowledgeFormProps {
  readonly event: EventRecord;
  /** The event and those that are folded with it. */
  readonly ids: readonly number[];
  readonly isAllowed: boolean;
}

/** Acknowledges an event with a note, or shows who did. The keys are `e` and `c`. */
export function AcknowledgeForm({ event, ids, isAllowed }: AcknowledgeFormProps) {
  const { t } = useTranslation('events');
  const acknowledge = useAcknowledge();
  const [note, setNote] = useState('');
  const field = useRef<HTMLTextAreaElement>(null);
  const canAcknowledge = isAllowed && isOpen(event);
  const submit = (): void => acknowledge.mutate({ ids, note });
  useSingleKeys({
    e: () => canAcknowledge && submit(),
    c: () => setTimeout(() => field.current?.focus()),
  });
  if (!isOpen(event)) return <Acknowledged event={event} />;
  if (!isAllowed) return <Text c="dimmed">{t('mayNotAcknowledge')}</Text>;
  return (
    <form
      onSubmit={(submitted) => {
        submitted.preventDefault();
        submit();
      }}
    >
      <Stack gap="sm" align="start">
        {acknowledge.isError ? <Failure error={acknowledge.error} /> : null}
        {(acknowledge.data?.length ?? 0) > 0 ? (
          <Text role="alert">{t('bulk.failed', { count: acknowledge.data?.length ?? 0 })}</Text>
        ) : null}
        <Textarea
          ref={field}
          label={t('note')}
          value={note}
          maxLength={1000}
          autosize
          w="100%"
          onChange={({ currentTarget }) => setNote(currentTarget.value)}
        />
        <Button type="submit" size="xs" loading={acknowledge.isPending}>
          {ids.length > 1 ? t('acknowledgeMany', { count: ids.length }) : t('acknowledge')}
        </Button>
      </Stack>
    </form>
  );
}

function Acknowledged({ event }: { event: EventRecord }) {
  const { t } = useTranslation('events');
  const format = useFormat();
  const note = readText(event, 'acknowledge_note');
  const time = format.dateTime(Date.parse(event.acknowledged_at ?? ''));
  const name = event.acknowledged_by_name;
  return (
    <div role="status">
      <p>{name === null ? t('acknowledgedAt', { time }) : t('acknowledgedBy', { time, name })}</p>
      {note === undefined ? null : <blockquote className="message-text">{note}</blockquote>}
    </div>
  );
}
