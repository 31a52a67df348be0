import { Group, NativeSelect, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useVehicles } from '../../common/fleet/queries.ts';
import { useFormat } from '../../common/format/preferences-context.ts';
import { useCan, useSession } from '../../common/session/session-context.ts';
import { NoPermission } from '../../common/ui/no-permission.tsx';
import { Pages } from '../../common/ui/pages.tsx';
import { Empty, Failure, Loading } from '../../common/ui/states.tsx';

const pageSize = 50;
type Channel = '' | 'sms' | 'voice';

/** Shows text messages and calls with the account, newest first. */
export function MessagesPage() {
  const can = useCan();
  return can('fleet') ? <MessageLog /> : <NoPermission />;
}

function MessageLog() {
  const { t } = useTranslation('messages');
  const { api } = useSession();
  const format = useFormat();
  const vehicles = useVehicles();
  const [channel, setChannel] = useState<Channel>('');
  const [page, setPage] = useState(1);
  const messages = useQuery({
    queryKey: ['listChatLog', channel, page],
    placeholderData: (before) => before,
    queryFn: async () => {
      const query = { limit: pageSize, offset: (page - 1) * pageSize, ...(channel === '' ? {} : { channel }) };
      const { data } = await api.GET('/api/chat-log', { params: { query } });
      return { items: data?.data ?? [], total: data?.meta.pagination.total ?? 0 };
    },
  });
  const plateOf = (id: number | null): string => vehicles.data?.find((vehicle) => vehicle.id === id)?.vehicle_no ?? '';
  const { items = [], total = 0 } = messages.data ?? {};
  return (
    <div className="page">
      <h1>{t('title')}</h1>
      <Group mb="md">
        <NativeSelect
          label={t('channel')}
          data={[
            { value: '', label: t('all') },
            { value: 'sms', label: t('sms') },
            { value: 'voice', label: t('voice') },
          ]}
          value={channel}
          onChange={({ currentTarget }) => {
            setChannel(currentTarget.value as Channel);
            setPage(1);
          }}
        />
      </Group>
      {messages.isPending ? <Loading /> : null}
      {messages.isError ? <Failure error={messages.error} onRetry={() => void messages.refetch()} /> : null}
      {messages.isSuccess && total === 0 ? (
        <Empty title={t('empty')}>
          <Text c="dimmed">{t('emptyHint')}</Text>
        </Empty>
      ) : null}
      {items.length === 0 ? null : (
        <div className="table-scroll" tabIndex={0} role="region" aria-label={t('title')}>
          <table className="data">
            <thead>
              <tr>
                {(['time', 'channel', 'direction', 'from', 'to', 'vehicle', 'status', 'text'] as const).map(
                  (column) => (
                    <th key={column}>{t(`column.${column}`)}</th>
                  ),
                )}
              </tr>
            </thead>
            <tbody>
              {items.map((message) => (
                <tr key={message.id}>
                  <td>{format.dateTime(Date.parse(message.received_at))}</td>
                  <td>{t(message.channel)}</td>
                  <td>{t(`direction.${message.direction}`)}</td>
                  <td>{message.from}</td>
                  <td>{message.to}</td>
                  <td>{plateOf(message.vehicle_id)}</td>
                  <td>{t(`status.${message.status}`)}</td>
                  <td>{message.text}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      <Pages page={page} total={total} pageSize={pageSize} onChange={setPage} />
    </div>
  );
}
