import { Badge, Button, Group, TextInput } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useMe } from '../../../common/session/session-context.ts';
import { Age } from '../../../common/ui/age.tsx';
import { ListStates } from '../../../common/ui/list-states.tsx';
import { Empty } from '../../../common/ui/states.tsx';
import { type CreatedUser, type User, useUsers } from '../queries.ts';
import { InvitationNotice } from './invitation-notice.tsx';
import { InviteDialog } from './invite-dialog.tsx';
import { UserEditor } from './user-editor.tsx';

/** Lists the users of the account: roles, invitations, second factors. */
export function UsersTab() {
  const { t } = useTranslation('account');
  const [query, setQuery] = useState('');
  const [isInviting, setIsInviting] = useState(false);
  const [edited, setEdited] = useState<User | null>(null);
  const [invited, setInvited] = useState<CreatedUser | null>(null);
  const users = useUsers(query);
  return (
    <section aria-label={t('tab.users')}>
      <div className="toolbar">
        <TextInput
          label={t('users.search')}
          value={query}
          onChange={({ currentTarget }) => setQuery(currentTarget.value)}
        />
        <Button onClick={() => setIsInviting(true)}>{t('users.invite')}</Button>
      </div>
      {invited === null ? null : <InvitationNotice user={invited} onClose={() => setInvited(null)} />}
      <ListStates query={users} items={users.data} empty={<Empty title={t('users.noMatch')} />}>
        {(items) => <UserTable users={items} onEdit={setEdited} />}
      </ListStates>
      {isInviting ? <InviteDialog onClose={() => setIsInviting(false)} onInvited={setInvited} /> : null}
      {edited === null ? null : <UserEditor user={edited} onClose={() => setEdited(null)} onInvited={setInvited} />}
    </section>
  );
}

function UserTable({ users, onEdit }: { users: readonly User[]; onEdit: (user: User) => void }) {
  const { t } = useTranslation('account');
  const me = useMe();
  return (
    <div className="table-scroll">
      <table className="data">
        <thead>
          <tr>
            {(['name', 'contact', 'role', 'access', 'lastLogin'] as const).map((column) => (
              <th key={column}>{t(`users.column.${column}`)}</th>
            ))}
            <th />
          </tr>
        </thead>
        <tbody>
          {users.map((user) => (
            <tr key={user.id}>
              <td>
                {user.name} {user.id === me.id ? <small>({t('users.you')})</small> : null}
              </td>
              <td>{user.email ?? user.phone_number}</td>
              <td>{t(`common:role.${user.role}`)}</td>
              <td>
                <Marks user={user} />
              </td>
              <td>
                {user.last_login_at === null ? t('users.never') : <Age timeMs={Date.parse(user.last_login_at)} />}
              </td>
              <td>
                <Button
                  size="compact-sm"
                  variant="default"
                  aria-label={t('users.editOf', { name: user.name })}
                  onClick={() => onEdit(user)}
                >
                  {t('users.edit')}
                </Button>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Marks({ user }: { user: User }) {
  const { t } = useTranslation('account');
  return (
    <Group gap="xs" wrap="nowrap">
      {user.disabled ? (
        <Badge variant="outline" color="critical">
          {t('users.disabled')}
        </Badge>
      ) : null}
      {user.role === 'viewer' && user.can_view_video ? <Badge variant="default">{t('users.video')}</Badge> : null}
      {user.two_factor_enabled ? <Badge variant="default">{t('users.twoFactor')}</Badge> : null}
    </Group>
  );
}
