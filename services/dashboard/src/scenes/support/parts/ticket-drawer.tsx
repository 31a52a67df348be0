import { Button, Drawer, Group, Stack, Text, Textarea } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useMe } from '../../../common/session/session-context.ts';
import { Age } from '../../../common/ui/age.tsx';
import { Failure } from '../../../common/ui/states.tsx';
import { type Ticket, useTicketChanges } from '../queries.ts';

/** Shows a ticket with its replies. */
export function TicketDrawer({ ticket, onClose }: { ticket: Ticket; onClose: () => void }) {
  const { t } = useTranslation('support');
  const { reply, setStatus } = useTicketChanges();
  const [message, setMessage] = useState('');
  const send = (): void =>
    reply.mutate({ id: ticket.id, message: message.trim() }, { onSuccess: () => setMessage('') });
  const isClosed = ticket.status === 'closed' || ticket.status === 'resolved';
  const failed = [reply, setStatus].find(({ isError }) => isError);
  return (
    <Drawer
      opened
      onClose={onClose}
      position="right"
      size="lg"
      title={ticket.subject}
      closeButtonProps={{ 'aria-label': t('common:action.close') }}
    >
      <Stack>
        <Entry userId={ticket.created_by} text={ticket.message} time={ticket.created_at} />
        {ticket.replies.map((one) => (
          <Entry
            key={`${one.created_at} ${one.user_id}`}
            userId={one.user_id}
            text={one.message}
            time={one.created_at}
          />
        ))}
        {failed === undefined ? null : <Failure error={failed.error} />}
        <Textarea
          label={t('reply')}
          rows={4}
          maxLength={10_000}
          value={message}
          onChange={({ currentTarget }) => setMessage(currentTarget.value)}
        />
        <Group justify="space-between">
          <Button
            variant="default"
            loading={setStatus.isPending}
            onClick={() => setStatus.mutate({ id: ticket.id, status: isClosed ? 'open' : 'closed' })}
          >
            {t(isClosed ? 'reopen' : 'close')}
          </Button>
          <Button loading={reply.isPending} disabled={message.trim() === ''} onClick={send}>
            {t('send')}
          </Button>
        </Group>
      </Stack>
    </Drawer>
  );
}

function Entry({ userId, text, time }: { userId: number; text: string; time: string }) {
  const { t } = useTranslation('support');
  const me = useMe();
  return (
    <article className="card">
      <Text size="sm" c="dimmed">
        {userId === me.id ? t('you') : t('support')} <Age timeMs={Date.parse(time)} />
      </Text>
      <Text className="message-text">{text}</Text>
    </article>
  );
}
