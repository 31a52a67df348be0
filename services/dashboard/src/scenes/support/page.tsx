import { Badge, Button, NativeSelect } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Age } from '../../common/ui/age.tsx';
import { Empty, Failure, Loading } from '../../common/ui/states.tsx';
import { NewTicket } from './parts/new-ticket.tsx';
import { TicketDrawer } from './parts/ticket-drawer.tsx';
import { type TicketStatus, useTickets } from './queries.ts';

const statuses = ['open', 'pending', 'resolved', 'closed'] as const;

/** Lists the tickets to the support, with their replies. */
export function SupportPage() {
  const { t } = useTranslation('support');
  const [status, setStatus] = useState<'' | TicketStatus>('');
  const [isWriting, setIsWriting] = useState(false);
  const [openId, setOpenId] = useState<number | null>(null);
  const tickets = useTickets(status);
  const open = tickets.data?.find(({ id }) => id === openId);
  return (
    <div className="page">
      <h1>{t('title')}</h1>
      <div className="filters">
        <NativeSelect
          label={t('status')}
          data={[
            { value: '', label: t('all') },
            ...statuses.map((value) => ({ value, label: t(`statuses.${value}`) })),
          ]}
          value={status}
          onChange={({ currentTarget }) => setStatus(currentTarget.value as '' | TicketStatus)}
        />
        <Button onClick={() => setIsWriting(true)}>{t('add')}</Button>
      </div>
      {tickets.isPending ? <Loading /> : null}
      {tickets.isError ? <Failure error={tickets.error} onRetry={() => void tickets.refetch()} /> : null}
      {tickets.data?.length === 0 ? <Empty title={t('empty')} /> : null}
      <ul className="row-list">
        {tickets.data?.map((ticket) => (
          <li key={ticket.id}>
            <Badge variant={ticket.status === 'open' ? 'outline' : 'default'}>{t(`statuses.${ticket.status}`)}</Badge>
            <span>{t(`priorities.${ticket.priority}`)}</span>
            <Button
              className="wrapping-button"
              size="compact-sm"
              variant="default"
              onClick={() => setOpenId(ticket.id)}
            >
              {ticket.subject}
            </Button>
            <small>{t('replies', { count: ticket.replies.length })}</small>
            <small>
              <Age timeMs={Date.parse(ticket.updated_at)} />
            </small>
          </li>
        ))}
      </ul>
      {isWriting ? <NewTicket onClose={() => setIsWriting(false)} /> : null}
      {open === undefined ? null : <TicketDrawer ticket={open} onClose={() => setOpenId(null)} />}
    </div>
  );
}
