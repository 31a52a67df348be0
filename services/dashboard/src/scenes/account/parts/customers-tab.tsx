import type { components } from '@fleet/api-client';
import { Badge, Button, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useMe, useSession } from '../../../common/session/session-context.ts';
import { ListStates } from '../../../common/ui/list-states.tsx';
import { Empty } from '../../../common/ui/states.tsx';

type Customer = components['schemas']['Account'];

const maxAccounts = 200;

/** Lists the accounts below a dealer, or all accounts for the operator's staff. One of them can be opened. */
export function CustomersTab() {
  const { t } = useTranslation('account');
  const { api } = useSession();
  const me = useMe();
  const [query, setQuery] = useState('');
  const accounts = useQuery({
    queryKey: ['listAccounts', query],
    placeholderData: (before) => before,
    queryFn: async () => {
      const search = { limit: maxAccounts, sort: 'name' as const, ...(query === '' ? {} : { query }) };
      return (await api.GET('/api/accounts', { params: { query: search } })).data?.data ?? [];
    },
  });
  const customers = accounts.data?.filter(({ id }) => id !== me.account.id);
  return (
    <section aria-label={t('tab.customers')}>
      <div className="toolbar">
        <TextInput
          label={t('customers.search')}
          value={query}
          onChange={({ currentTarget }) => setQuery(currentTarget.value)}
        />
      </div>
      <ListStates query={accounts} items={customers} empty={<Empty title={t('customers.empty')} />}>
        {(items) => <CustomerTable customers={items} />}
      </ListStates>
    </section>
  );
}

function CustomerTable({ customers }: { customers: readonly Customer[] }) {
  const { t } = useTranslation('account');
  const session = useSession();
  return (
    <div className="table-scroll">
      <table className="data">
        <thead>
          <tr>
            <th>{t('customers.name')}</th>
            <th>{t('customers.place')}</th>
            <th>{t('customers.status')}</th>
            <th />
          </tr>
        </thead>
        <tbody>
          {customers.map((account) => (
            <tr key={account.id}>
              <td>{account.name}</td>
              <td>{[account.city, account.country].filter((part) => part !== null).join(', ')}</td>
              <td>
                <Badge variant={account.status === 'active' ? 'default' : 'outline'} color="critical">
                  {t(`customers.${account.status}`)}
                </Badge>
              </td>
              <td>
                <Button
                  size="compact-sm"
                  variant="default"
                  aria-label={t('customers.openOf', { name: account.name })}
                  onClick={() => session.openCustomer({ id: account.id, name: account.name })}
                >
                  {t('customers.open')}
                </Button>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
