import type { components } from '@fleet/api-client';
import { Button, Group, Modal, MultiSelect, NativeSelect, Stack, Text, Title } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useVehicles } from '../../../common/fleet/queries.ts';
import { useFormat } from '../../../common/format/preferences-context.ts';
import { FormButtons } from '../../../common/forms/form-buttons.tsx';
import { useSendOnce } from '../../../common/forms/use-send-once.ts';
import { useSession } from '../../../common/session/session-context.ts';
import { ListStates } from '../../../common/ui/list-states.tsx';
import { Empty, Failure } from '../../../common/ui/states.tsx';
import { formatAmount } from '../money.ts';
import '@mantine/core/styles/Pill.css';
import '@mantine/core/styles/PillsInput.css';

type Plan = components['schemas']['Plan'];
type Order = components['schemas']['Order'];
type Months = 1 | 3 | 6 | 12 | 24;

const maxOrders = 100;

/** Shows plans that can be ordered, and the orders of the account. */
export function BillingTab() {
  const { t, i18n } = useTranslation('account');
  const { api } = useSession();
  const [ordered, setOrdered] = useState<Plan | null>(null);
  const plans = useQuery({
    queryKey: ['listPlans'],
    queryFn: async () => (await api.GET('/api/subscriptions/plans')).data?.data ?? [],
  });
  const orders = useQuery({
    queryKey: ['listOrders'],
    queryFn: async () => {
      const query = { limit: maxOrders, sort: '-id' as const };
      return (await api.GET('/api/subscription/orders', { params: { query } })).data?.data ?? [];
    },
  });
  return (
    <Stack>
      <section aria-label={t('billing.plans')}>
        <Title order={2} size="h4" mb="sm">
          {t('billing.plans')}
        </Title>
        <ListStates query={plans} items={plans.data} empty={<Empty title={t('billing.noPlans')} />}>
          {(items) => (
            <div className="settings-cards">
              {items.map((plan) => (
                <article key={plan.id} className="card">
                  <h2>{plan.name}</h2>
                  <p>
                    {plan.prices
                      .map(({ currency, amount }) => formatAmount(amount, currency, i18n.language))
                      .join(' · ')}{' '}
                    {t('billing.perMonth')}
                  </p>
                  <Button size="compact-md" onClick={() => setOrdered(plan)}>
                    {t('billing.order')}
                  </Button>
                </article>
              ))}
            </div>
          )}
        </ListStates>
      </section>
      <section aria-label={t('billing.orders')}>
        <Title order={2} size="h4" mb="sm">
          {t('billing.orders')}
        </Title>
        <ListStates query={orders} items={orders.data} empty={<Empty title={t('billing.noOrders')} />}>
          {(items) => <OrderTable orders={items} />}
        </ListStates>
      </section>
      {ordered === null ? null : <OrderDialog plan={ordered} onClose={() => setOrdered(null)} />}
    </Stack>
  );
}

function OrderTable({ orders }: { orders: readonly Order[] }) {
  const { t, i18n } = useTranslation('account');
  const format = useFormat();
  return (
    <div className="table-scroll" tabIndex={0} role="region" aria-label={t('billing.orders')}>
      <table className="data">
        <thead>
          <tr>
            {(['number', 'created', 'plan', 'vehicles', 'months', 'amount', 'status'] as const).map((column) => (
              <th key={column}>{t(`billing.column.${column}`)}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {orders.map((order) => (
            <tr key={order.id}>
              <td>{order.id}</td>
              <td>{format.dateTime(Date.parse(order.created_at))}</td>
              <td>{order.plan}</td>
              <td>{order.vehicle_ids.length}</td>
              <td>{order.months}</td>
              <td>{formatAmount(order.amount, order.currency, i18n.language)}</td>
              <td>
                {t(`billing.status.${order.status}`)}{' '}
                {order.status === 'created' && order.checkout_url !== null ? (
                  <a href={order.checkout_url}>{t('billing.pay')}</a>
                ) : null}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Returns the mutation that orders a plan for vehicles. */
function useOrder(plan: Plan, onOrdered: () => void) {
  const { api } = useSession();
  const queries = useQueryClient();
  const send = useSendOnce();
  return useMutation({
    mutationFn: ({ vehicleIds, months }: { vehicleIds: number[]; months: Months }) => {
      const body = { plan: plan.key, vehicle_ids: vehicleIds, months };
      return send(body, (header) => api.POST('/api/subscription/create-gateway-order', { body, params: { header } }));
    },
    onSuccess: () => {
      void queries.invalidateQueries({ queryKey: ['listOrders'] });
      onOrdered();
    },
  });
}

function OrderDialog({ plan, onClose }: { plan: Plan; onClose: () => void }) {
  const { t } = useTranslation('account');
  const vehicles = useVehicles();
  const [chosen, setChosen] = useState<string[]>([]);
  const [months, setMonths] = useState<Months>((plan.month_choices[0]?.months ?? 1) as Months);
  const order = useOrder(plan, onClose);
  return (
    <Modal
      opened
      onClose={onClose}
      title={t('billing.orderOf', { plan: plan.name })}
      closeButtonProps={{ 'aria-label': t('common:action.close') }}
    >
      <form
        onSubmit={(event) => {
          event.preventDefault();
          order.mutate({ vehicleIds: chosen.map(Number), months });
        }}
      >
        <Stack>
          {order.isError ? <Failure error={order.error} /> : null}
          <MultiSelect
            label={t('billing.vehicles')}
            data={(vehicles.data ?? []).map(({ id, vehicle_no: label }) => ({ value: String(id), label }))}
            value={chosen}
            onChange={(values) => setChosen(values.map(String))}
            searchable
            limit={50}
            required
          />
          <NativeSelect
            label={t('billing.months')}
            data={plan.month_choices.map(({ months: value, discount_percent: percent }) => ({
              value: String(value),
              label: percent === 0 ? String(value) : t('billing.discount', { months: value, percent }),
            }))}
            value={String(months)}
            onChange={({ currentTarget }) => setMonths(Number(currentTarget.value) as Months)}
          />
          <Text size="sm" c="dimmed">
            {t('billing.orderHint')}
          </Text>
          <Group justify="flex-end">
            <FormButtons isSaving={order.isPending} onCancel={onClose} />
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
