import type { components } from '@fleet/api-client';
import { Button, Code, Group, Modal, Stack, Text, Title } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useFormat } from '../../../common/format/preferences-context.ts';
import { useSession } from '../../../common/session/session-context.ts';
import { CopyText } from '../../../common/ui/copy-text.tsx';
import { Empty, Failure, Loading } from '../../../common/ui/states.tsx';
import { NewApiKey } from './new-api-key.tsx';

type ApiKey = components['schemas']['ApiKey'];

/** Shows API keys of the account. A new key is shown once. */
export function ApiKeys() {
  const { t } = useTranslation('profile');
  const { api } = useSession();
  const queries = useQueryClient();
  const [isCreating, setIsCreating] = useState(false);
  const [created, setCreated] = useState<string | null>(null);
  const [revoked, setRevoked] = useState<ApiKey | null>(null);
  const keys = useQuery({
    queryKey: ['listApiKeys'],
    queryFn: async () => (await api.GET('/api/api-keys', { params: { query: { limit: 200 } } })).data?.data ?? [],
  });
  const revoke = useMutation({
    mutationFn: (id: number) => api.DELETE('/api/api-keys/{id}', { params: { path: { id } } }),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['listApiKeys'] }),
    onSettled: () => setRevoked(null),
  });
  const close = { 'aria-label': t('common:action.close') };
  return (
    <section className="card" aria-label={t('apiKeys.title')}>
      <Group justify="space-between" mb="sm">
        <Title order={2} size="h4">
          {t('apiKeys.title')}
        </Title>
        <Button onClick={() => setIsCreating(true)}>{t('apiKeys.add')}</Button>
      </Group>
      {revoke.isError ? <Failure error={revoke.error} /> : null}
      {keys.isPending ? <Loading /> : null}
      {keys.isError ? <Failure error={keys.error} onRetry={() => void keys.refetch()} /> : null}
      {keys.data?.length === 0 ? <Empty title={t('apiKeys.empty')} /> : null}
      {keys.data === undefined || keys.data.length === 0 ? null : <KeyTable keys={keys.data} onRevoke={setRevoked} />}
      {isCreating ? <NewApiKey onClose={() => setIsCreating(false)} onCreated={setCreated} /> : null}
      {created === null ? null : (
        <Modal
          opened
          onClose={() => setCreated(null)}
          title={t('apiKeys.created')}
          closeOnClickOutside={false}
          closeButtonProps={close}
        >
          <Text mb="sm">{t('apiKeys.once')}</Text>
          <Group>
            <Code className="secret">{created}</Code>
            <CopyText text={created} />
          </Group>
        </Modal>
      )}
      {revoked === null ? null : (
        <Modal opened onClose={() => setRevoked(null)} title={t('apiKeys.revokeTitle')} closeButtonProps={close}>
          <Stack>
            <Text>{t('apiKeys.revokeText', { name: revoked.name })}</Text>
            <Group justify="flex-end">
              <Button variant="default" onClick={() => setRevoked(null)}>
                {t('common:action.cancel')}
              </Button>
              <Button color="critical" loading={revoke.isPending} onClick={() => revoke.mutate(revoked.id)}>
                {t('apiKeys.revoke')}
              </Button>
            </Group>
          </Stack>
        </Modal>
      )}
    </section>
  );
}

function KeyTable({ keys, onRevoke }: { keys: readonly ApiKey[]; onRevoke: (key: ApiKey) => void }) {
  const { t } = useTranslation('profile');
  const format = useFormat();
  return (
    <div className="table-scroll" tabIndex={0} role="region" aria-label={t('apiKeys.title')}>
      <table className="data">
        <thead>
          <tr>
            {(['name', 'hint', 'scopes', 'addresses', 'expires'] as const).map((column) => (
              <th key={column}>{t(`apiKeys.column.${column}`)}</th>
            ))}
            <th />
          </tr>
        </thead>
        <tbody>
          {keys.map((key) => (
            <tr key={key.id}>
              <td>{key.name}</td>
              <td>…{key.key_hint}</td>
              <td>{key.scopes.join(', ')}</td>
              <td>{key.ip_allowlist.length === 0 ? t('apiKeys.anyAddress') : key.ip_allowlist.join(', ')}</td>
              <td>{key.expires_at === null ? t('apiKeys.never') : format.dateTime(Date.parse(key.expires_at))}</td>
              <td>
                <Button
                  size="compact-sm"
                  variant="outline"
                  color="critical"
                  aria-label={t('apiKeys.revokeOf', { name: key.name })}
                  onClick={() => onRevoke(key)}
                >
                  {t('apiKeys.revoke')}
                </Button>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
