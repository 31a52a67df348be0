import { Badge, Button, Group, Modal, Text } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Age } from '../../../common/ui/age.tsx';
import { Empty, Failure, Loading } from '../../../common/ui/states.tsx';
import { Deliveries } from './deliveries.tsx';
import { SecretOnce } from './secret-once.tsx';
import { WebhookEditor } from './webhook-editor.tsx';
import { useWebhookChanges, useWebhooks, type Webhook } from './webhook-queries.ts';

type Open =
  | { readonly kind: 'edit'; readonly webhook: Webhook | null }
  | { readonly kind: 'delete' | 'deliveries'; readonly webhook: Webhook };

/** Webhooks of the user: add, edit, delete, test, and their deliveries. */
export function WebhooksTab() {
  const { t } = useTranslation('profile');
  const webhooks = useWebhooks();
  const changes = useWebhookChanges();
  const [open, setOpen] = useState<Open | null>(null);
  const [secret, setSecret] = useState<string | null>(null);
  if (webhooks.isPending) return <Loading />;
  if (webhooks.isError) return <Failure error={webhooks.error} onRetry={() => void webhooks.refetch()} />;
  const attempt = changes.test.data;
  return (
    <section aria-label={t('tab.webhooks')}>
      <Group justify="space-between" mb="md">
        <Text c="dimmed">{t('webhooks.hint')}</Text>
        <Button onClick={() => setOpen({ kind: 'edit', webhook: null })}>{t('webhooks.add')}</Button>
      </Group>
      {[changes.test, changes.remove, changes.regenerate].map(({ error }, index) =>
        // The three mutations stand in a fixed order.
        error === null ? null : <Failure key={index} error={error} />,
      )}
      {attempt === undefined ? null : (
        <p role="status">
          {t('webhooks.testResult', { status: attempt.status_code ?? attempt.error_code, ms: attempt.duration_ms })}
        </p>
      )}
      {webhooks.data.length === 0 ? (
        <Empty title={t('webhooks.empty')} />
      ) : (
        <WebhookTable
          webhooks={webhooks.data}
          onOpen={setOpen}
          onTest={(id) => changes.test.mutate(id)}
          onRegenerate={(id) => changes.regenerate.mutate(id, { onSuccess: setSecret })}
        />
      )}
      {open?.kind === 'edit' ? (
        <WebhookEditor webhook={open.webhook} onClose={() => setOpen(null)} onSecret={setSecret} />
      ) : null}
      {open?.kind === 'deliveries' ? <Deliveries webhook={open.webhook} onClose={() => setOpen(null)} /> : null}
      {open?.kind === 'delete' ? (
        <DeleteDialog
          webhook={open.webhook}
          onClose={() => setOpen(null)}
          onDelete={() => changes.remove.mutate(open.webhook.id, { onSettled: () => setOpen(null) })}
        />
      ) : null}
      {secret === null ? null : <SecretOnce secret={secret} onClose={() => setSecret(null)} />}
    </section>
  );
}

interface WebhookTableProps {
  readonly webhooks: readonly Webhook[];
  readonly onOpen: (open: Open) => void;
  readonly onTest: (id: number) => void;
  readonly onRegenerate: (id: number) => void;
}

function WebhookTable({ webhooks, onOpen, onTest, onRegenerate }: WebhookTableProps) {
  const { t } = useTranslation('profile');
  return (
    <div className="table-scroll">
      <table className="data">
        <thead>
          <tr>
            <th>{t('webhooks.url')}</th>
            <th>{t('webhooks.status')}</th>
            <th>{t('webhooks.lastSuccess')}</th>
            <th>{t('webhooks.lastFailure')}</th>
            <th />
          </tr>
        </thead>
        <tbody>
          {webhooks.map((webhook) => (
            <tr key={webhook.id}>
              <td>{webhook.name === null ? webhook.url : `${webhook.name} (${webhook.url})`}</td>
              <td>
                <Badge variant={webhook.status === 'active' ? 'default' : 'filled'} color="critical">
                  {t(`webhooks.${webhook.status}`)}
                </Badge>{' '}
                {webhook.disabled_reason}
              </td>
              {[webhook.last_success_at, webhook.last_failure_at].map((time, index) => (
                // Two columns in a fixed order.
                <td key={index}>{time === null ? t('webhooks.never') : <Age timeMs={Date.parse(time)} />}</td>
              ))}
              <td>
                <Group gap="xs" wrap="nowrap">
                  <Button size="compact-sm" variant="default" onClick={() => onTest(webhook.id)}>
                    {t('webhooks.test')}
                  </Button>
                  <Button size="compact-sm" variant="default" onClick={() => onOpen({ kind: 'deliveries', webhook })}>
                    {t('webhooks.deliveries')}
                  </Button>
                  <Button size="compact-sm" variant="default" onClick={() => onRegenerate(webhook.id)}>
                    {t('webhooks.regenerate')}
                  </Button>
                  <Button size="compact-sm" variant="default" onClick={() => onOpen({ kind: 'edit', webhook })}>
                    {t('webhooks.edit')}
                  </Button>
                  <Button
                    size="compact-sm"
                    variant="outline"
                    color="critical"
                    onClick={() => onOpen({ kind: 'delete', webhook })}
                  >
                    {t('common:action.delete')}
                  </Button>
                </Group>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function DeleteDialog({ webhook, onClose, onDelete }: { webhook: Webhook; onClose: () => void; onDelete: () => void }) {
  const { t } = useTranslation('profile');
  return (
    <Modal
      opened
      onClose={onClose}
      title={t('webhooks.deleteTitle')}
      closeButtonProps={{ 'aria-label': t('common:action.close') }}
    >
      <Text mb="md">{t('webhooks.deleteText', { url: webhook.url })}</Text>
      <Group justify="flex-end">
        <Button variant="default" onClick={onClose}>
          {t('common:action.cancel')}
        </Button>
        <Button color="critical" onClick={onDelete}>
          {t('common:action.delete')}
        </Button>
      </Group>
    </Modal>
  );
}
