import { Button } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { Empty } from './states.tsx';

/** Shows the page for addresses without a route. */
export function NotFound() {
  const { t } = useTranslation();
  return (
    <Empty title={t('notFound.title')}>
      <Button component={Link} to="/map">
        {t('notFound.back')}
      </Button>
    </Empty>
  );
}
