import { Button, Text } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { useMe } from '../session/session-context.ts';
import { Empty } from './states.tsx';

/** Shows the page for a direct link that the user's role does not permit. */
export function NoPermission() {
  const { t } = useTranslation();
  const { role } = useMe();
  return (
    <Empty title={t('permission.title')}>
      <Text>{t('permission.text', { role: t(`role.${role}`) })}</Text>
      <Button component={Link} to="/map">
        {t('notFound.back')}
      </Button>
    </Empty>
  );
}
