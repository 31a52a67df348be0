import type { components } from '@fleet/api-client';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import { useSendOnce } from '../../../common/forms/use-send-once.ts';
import { useLiveEvents } from '../../../common/live/live-context.ts';
import { useSession } from '../../../common/session/session-context.ts';

export type Webhook = components['schemas']['Webhook'];
export type Delivery = components['schemas']['Delivery'];
export type DeliveryDetails = components['schemas']['DeliveryDetails'];
export type Attempt = components['schemas']['Attempt'];

/** Queries of webhooks, all of which a delivery makes stale. */
const queryNames = ['listWebhooks', 'getWebhookStats', 'listDeliveries', 'getDelivery'] as const;
/** Busy webhooks deliver many times a second. */
const refreshIntervalMs = 1_000;

/** Parts of the chart of the last day. */
const statisticsBuckets = 24;
export const deliveriesPerPage = 25;

export function useWebhooks() {
  const { api } = useSession();
  return useQuery({
    queryKey: ['listWebhooks'],
    queryFn: async () => (await api.GET('/api/user-webhooks')).data?.data ?? [],
  });
}

export function useWebhookStats(id: number) {
  const { api } = useSession();
  return useQuery({
    queryKey: ['getWebhookStats', id],
    queryFn: async () => {
      const params = { path: { id }, query: { hours: 24, buckets: statisticsBuckets } };
      return (await api.GET('/api/user-webhooks/{id}/stats', { params })).data?.data;
    },
  });
}

export function useNotificationTypes() {
  const { api } = useSession();
  return useQuery({
    queryKey: ['listNotificationTypes'],
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: async () => (await api.GET('/api/notifications/types')).data?.data ?? [],
  });
}

/** Filters of a list of deliveries. Empty texts filter nothing. */
export interface DeliveryFilter {
  readonly status: '' | Delivery['status'];
  readonly type: string;
  readonly imei: string;
  readonly hours: number;
  readonly offset: number;
}

const hourMs = 3_600_000;

export function useDeliveries(id: number, filter: DeliveryFilter) {
  const { api } = useSession();
  return useQuery({
    queryKey: ['listDeliveries', id, filter],
    placeholderData: (before) => before,
    queryFn: async () => {
      const { status, type, imei, hours, offset } = filter;
      const query = {
        limit: deliveriesPerPage,
        offset,
        from: new Date(Date.now() - hours * hourMs).toISOString(),
        ...(status === '' ? {} : { status }),
        ...(type === '' ? {} : { type }),
        ...(imei === '' ? {} : { imei }),
      };
      const { data } = await api.GET('/api/user-webhooks/{id}/deliveries', { params: { path: { id }, query } });
      return { items: data?.data ?? [], total: data?.meta.pagination.total ?? 0 };
    },
  });
}

export function useDelivery(id: number, deliveryId: string) {
  const { api } = useSession();
  return useQuery({
    queryKey: ['getDelivery', id, deliveryId],
    queryFn: async () => {
      const params = { path: { id, deliveryId } };
      return (await api.GET('/api/user-webhooks/{id}/deliveries/{deliveryId}', { params })).data?.data;
    },
  });
}

/** Reads webhooks and deliveries again when one was delivered, at most once a second. */
export function useRefreshOnDelivery(): void {
  const refresh = useRefresh();
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useLiveEvents(({ type }) => {
    if (type !== 'delivery' || timer.current !== undefined) return;
    timer.current = setTimeout(() => {
      timer.current = undefined;
      void refresh();
    }, refreshIntervalMs);
  });
  useEffect(() => () => clearTimeout(timer.current), []);
}

function useRefresh(): () => Promise<void> {
  const queries = useQueryClient();
  return async () => {
    await Promise.all(queryNames.map((name) => queries.invalidateQueries({ queryKey: [name] })));
  };
}

/** Fields that the editor changes; `secret` only if the user entered one. */
export interface WebhookChange {
  readonly url: string;
  readonly name: string | null;
  readonly secret?: string;
  readonly enabled: boolean;
  readonly notification_types: string[];
  readonly vehicle_ids: number[];
  readonly headers: Record<string, string>;
}

/** A created or changed webhook, with its secret if that is new. */
interface SavedWebhook {
  readonly webhook: Webhook;
  readonly secret: string | null;
}

/** Returns the mutation that creates a webhook (`webhook` is null) or changes the version that the user has seen. */
export function useSaveWebhook() {
  const { api } = useSession();
  const refresh = useRefresh();
  const send = useSendOnce();
  return useMutation({
    mutationFn: async ({ webhook, body }: { webhook: Webhook | null; body: WebhookChange }): Promise<SavedWebhook> => {
      if (webhook === null) {
        const { data } = await send(body, (header) => api.POST('/api/user-webhooks', { body, params: { header } }));
        if (data === undefined) throw new Error('The server returned no webhook.');
        return { webhook: data.data, secret: data.data.secret };
      }
      const params = { path: { id: webhook.id }, header: { 'If-Match': `"${webhook.version}"` } };
      const { data } = await api.PUT('/api/user-webhooks/{id}', { params, body });
      if (data === undefined) throw new Error('The server returned no webhook.');
      return { webhook: data.data, secret: null };
    },
    onSettled: refresh,
  });
}

/** Returns the mutations of single webhooks. */
export function useWebhookActions() {
  const { api } = useSession();
  const queries = useQueryClient();
  const onSettled = useRefresh();
  const enable = useMutation({
    mutationFn: (id: number) =>
      api.PUT('/api/user-webhooks/{id}', { params: { path: { id } }, body: { enabled: true } }),
    onSettled,
  });
  const remove = useMutation({
    mutationFn: (id: number) => api.DELETE('/api/user-webhooks/{id}', { params: { path: { id } } }),
    onSuccess: async (_response, id) => {
      // Its card disappears first, so that nothing reads the statistics of a deleted webhook.
      queries.setQueryData<Webhook[]>(['listWebhooks'], (before) => before?.filter((webhook) => webhook.id !== id));
      await queries.invalidateQueries({ queryKey: ['listWebhooks'] });
    },
  });
  return { enable, remove };
}

export function useTestWebhook() {
  const { api } = useSession();
  const onSettled = useRefresh();
  return useMutation({
    mutationFn: async ({ id, type }: { id: number; type: string }) => {
      const request = { params: { path: { id } }, body: { notification_type: type } };
      return (await api.POST('/api/user-webhooks/{id}/test', request)).data?.data;
    },
    onSettled,
  });
}

export function useRegenerateSecret() {
  const { api } = useSession();
  const onSettled = useRefresh();
  return useMutation({
    mutationFn: async ({ id, ...body }: { id: number; grace_hours: number; secret?: string }) => {
      const { data } = await api.POST('/api/user-webhooks/{id}/regenerate-secret', { params: { path: { id } }, body });
      return data?.data.secret ?? null;
    },
    onSettled,
  });
}

export function useRetryDelivery() {
  const { api } = useSession();
  const onSettled = useRefresh();
  return useMutation({
    mutationFn: ({ id, deliveryId }: { id: number; deliveryId: string }) =>
      api.POST('/api/user-webhooks/{id}/deliveries/{deliveryId}/retry', { params: { path: { id, deliveryId } } }),
    onSettled,
  });
}

export function useReplay() {
  const { api } = useSession();
  const onSettled = useRefresh();
  return useMutation({
    mutationFn: async ({ id, hours }: { id: number; hours: number }) => {
      const body = { since: new Date(Date.now() - hours * hourMs).toISOString() };
      const { data } = await api.POST('/api/user-webhooks/{id}/replay', { params: { path: { id } }, body });
      return data?.data.queued ?? 0;
    },
    onSettled,
  });
}
