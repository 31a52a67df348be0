import { Button, Group, Text } from '@mantine/core';
import { getRouteApi } from '@tanstack/react-router';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Empty, Failure, Loading } from '../../../common/ui/states.tsx';
import { DeleteDialog } from './delete-dialog.tsx';
import { Deliveries } from './deliveries.tsx';
import { useRefreshOnDelivery, useWebhookActions, useWebhooks, type Webhook } from './queries.ts';
import { RegenerateDialog } from './regenerate-dialog.tsx';
import { type NewSecret, SecretOnce } from './secret-once.tsx';
import { TestDialog } from './test-dialog.tsx';
import { WebhookCard } from './webhook-card.tsx';
import { WebhookEditor } from './webhook-editor.tsx';
import './webhooks.css';

const route = getRouteApi('/app/profile/{-$tab}');

/** Dialogs of one webhook. */
export type WebhookDialog = 'edit' | 'delete' | 'test' | 'regenerate';

type Open =
  | { readonly dialog: 'add'; readonly webhook: null }
  | { readonly dialog: WebhookDialog; readonly webhook: Webhook };

/** Lists the webhooks of the user, with everything that can be done with them. */
export function WebhooksTab() {
  const { t } = useTranslation('profile');
  const webhooks = useWebhooks();
  const { webhook: listedId } = route.useSearch();
  const navigate = route.useNavigate();
  const { enable } = useWebhookActions();
  const [open, setOpen] = useState<Open | null>(null);
  const [secret, setSecret] = useState<NewSecret | null>(null);
  useRefreshOnDelivery();
  if (webhooks.isPending) return <Loading />;
  if (webhooks.isError) return <Failure error={webhooks.error} onRetry={() => void webhooks.refetch()} />;
  const close = (): void => setOpen(null);
  const list = (webhook: number | undefined): void =>
    void navigate({ search: webhook === undefined ? {} : { webhook }, resetScroll: false });
  const listed = webhooks.data.find(({ id }) => id === listedId);
  return (
    <section aria-label={t('tab.webhooks')}>
      <Group justify="space-between" mb="md">
        <Text c="dimmed">{t('webhooks.hint')}</Text>
        <Button onClick={() => setOpen({ dialog: 'add', webhook: null })}>{t('webhooks.add')}</Button>
      </Group>
      {enable.isError ? <Failure error={enable.error} /> : null}
      {webhooks.data.length === 0 ? <Empty title={t('webhooks.empty')} /> : null}
      <ul className="webhook-list">
        {webhooks.data.map((webhook) => (
          <WebhookCard
            key={webhook.id}
            webhook={webhook}
            isEnabling={enable.isPending && enable.variables === webhook.id}
            onOpen={(dialog) => setOpen({ dialog, webhook })}
            onList={() => list(webhook.id)}
            onEnable={() => enable.mutate(webhook.id)}
          />
        ))}
      </ul>
      {open === null ? null : <OpenDialog open={open} onClose={close} onSecret={setSecret} />}
      {listed === undefined ? null : <Deliveries webhook={listed} onClose={() => list(undefined)} />}
      {secret === null ? null : <SecretOnce {...secret} onClose={() => setSecret(null)} />}
    </section>
  );
}

interface OpenDialogProps {
  readonly open: Open;
  readonly onClose: () => void;
  readonly onSecret: (secret: NewSecret) => void;
}

function OpenDialog({ open, onClose, onSecret }: OpenDialogProps) {
  switch (open.dialog) {
    case 'add':
    case 'edit':
      return <WebhookEditor webhook={open.webhook} onClose={onClose} onSecret={onSecret} />;
    case 'delete':
      return <DeleteDialog webhook={open.webhook} onClose={onClose} />;
    case 'test':
      return <TestDialog webhook={open.webhook} onClose={onClose} />;
    case 'regenerate':
      return <RegenerateDialog webhook={open.webhook} onClose={onClose} onSecret={onSecret} />;
  }
}
