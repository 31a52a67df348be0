import { getRouteApi } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { useCan, useMe } from '../../common/session/session-context.ts';
import { AccountLinks } from '../../common/ui/account-links.tsx';
import { Facts } from '../../common/ui/facts.tsx';
import { NoPermission } from '../../common/ui/no-permission.tsx';
import { PageTabs } from '../../common/ui/page-tabs.tsx';
import { NotificationsTab } from './parts/notifications-tab.tsx';
import { PreferencesTab } from './parts/preferences-tab.tsx';
import { SecurityTab } from './security/security-tab.tsx';
import { WebhooksTab } from './webhooks/webhooks-tab.tsx';

const route = getRouteApi('/app/profile/{-$tab}');
const tabs = ['profile', 'preferences', 'security', 'notifications', 'webhooks'] as const;

const contents: Readonly<Record<(typeof tabs)[number], ReactNode>> = {
  profile: <ProfileTab />,
  preferences: <PreferencesTab />,
  security: <SecurityTab />,
  notifications: <NotificationsTab />,
  webhooks: <WebhooksTab />,
};

/** Shows the user's own record, preferences, sessions and webhooks. */
export function ProfilePage() {
  const { t } = useTranslation('profile');
  const { tab } = route.useParams();
  const navigate = route.useNavigate();
  const can = useCan();
  const visible = tabs.filter((name) => name !== 'webhooks' || can('webhooks'));
  if (tab === 'webhooks' && !can('webhooks')) return <NoPermission />;
  const current = visible.find((name) => name === tab) ?? 'profile';
  return (
    <div className="page">
      <h1>{t('title')}</h1>
      <div className="more-links">
        <AccountLinks isSecondary={false} />
      </div>
      <PageTabs
        tabs={visible.map((name) => ({ name, label: t(`tab.${name}`), content: contents[name] }))}
        current={current}
        onChange={(name) => void navigate({ params: { tab: name === 'profile' ? undefined : name } })}
      />
    </div>
  );
}

function ProfileTab() {
  const { t } = useTranslation('profile');
  const me = useMe();
  const facts = [
    [t('name'), me.name],
    [t('email'), me.email ?? '–'],
    [t('phone'), me.phone_number ?? '–'],
    [t('role'), t(`common:role.${me.role}`)],
    [t('account'), me.account.name],
  ] as const;
  return <Facts facts={facts} />;
}
