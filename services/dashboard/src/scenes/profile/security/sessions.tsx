import { Badge, Button, Title } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { useSession } from '../../../common/session/session-context.ts';
import { Age } from '../../../common/ui/age.tsx';
import { Failure, Loading } from '../../../common/ui/states.tsx';
import { findSessionClient } from './session-client.ts';

/** Shows the open sessions of the user, each of which can be ended. */
export function Sessions() {
  const { t } = useTranslation('profile');
  const { api } = useSession();
  const queries = useQueryClient();
  const sessions = useQuery({
    queryKey: ['listSessions'],
    queryFn: async () => (await api.GET('/api/auth/sessions')).data?.data ?? [],
  });
  const end = useMutation({
    mutationFn: (id: number) => api.DELETE('/api/auth/sessions/{id}', { params: { path: { id } } }),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['listSessions'] }),
  });
  if (sessions.isPending) return <Loading />;
  if (sessions.isError) return <Failure error={sessions.error} onRetry={() => void sessions.refetch()} />;
  return (
    <section className="card" aria-label={t('sessions.title')}>
      <Title order={2} size="h4" mb="sm">
        {t('sessions.title')}
      </Title>
      {end.isError ? <Failure error={end.error} /> : null}
      <div className="table-scroll">
        <table className="data">
          <thead>
            <tr>
              <th>{t('sessions.browser')}</th>
              <th>IP</th>
              <th>{t('sessions.lastUsed')}</th>
              <th />
            </tr>
          </thead>
          <tbody>
            {sessions.data.map((session) => (
              <tr key={session.id}>
                <td>
                  <ClientName userAgent={session.user_agent} />
                </td>
                <td>{session.ip}</td>
                <td>
                  <Age timeMs={Date.parse(session.last_used_at)} />
                </td>
                <td>
                  {session.current ? (
                    <Badge variant="default">{t('sessions.current')}</Badge>
                  ) : (
                    <Button size="compact-sm" variant="default" onClick={() => end.mutate(session.id)}>
                      {t('sessions.end')}
                    </Button>
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

/** Shows the browser of a session; the user agent of other programs. */
function ClientName({ userAgent }: { userAgent: string | null }) {
  const { t } = useTranslation('profile');
  if (userAgent === null) return <>{t('sessions.unknown')}</>;
  const client = findSessionClient(userAgent);
  const name = client === undefined ? userAgent.slice(0, 60) : t('sessions.client', { ...client });
  return <span title={userAgent}>{name}</span>;
}
